// A flame graph as one file: the page's own, with the answer of the server inside. Opens without a
// collector and without a network, so that all is done on this thread; there is one answer, of a
// size that was chosen for it.
import { render } from 'preact';
import { useMemo } from 'preact/hooks';
import '../style.css';
import './alone.css';
import type { Flame } from '../api/types';
import { go, inBlocks, useAddress } from '../base/address';
import { Notice, Segments } from '../base/ui';
import { Graph } from './graph';
import { lay } from './lay';

interface Held {
	title: string;
	subtitle: string;
	incomplete?: string;
	weight: 'bytes' | 'blocks';
	/** The tree already begins at the functions that allocated. */
	reversed: boolean;
	flame: Flame;
}

function Alone(props: { held: Held }) {
	const { held } = props;
	const address = useAddress();
	const { params } = address;
	if (!params.has('weight')) params.set('weight', held.weight);
	const blocks = inBlocks(address);
	const focus = params.get('focus') ?? '';
	const up = params.get('tree') === 'up' && !focus && !held.reversed;
	const laid = useMemo(
		() => lay(held.flame, { blocks, focus, up, byName: false }),
		[blocks, focus, up],
	);
	const weight = blocks ? 'blocks' : 'bytes';

	return (
		<div class="alone">
			<header>
				<h1>{held.title}</h1>
				<p class="dim">{held.subtitle}</p>
			</header>
			{held.incomplete && (
				<div class="incomplete" role="note">
					{held.incomplete}
				</div>
			)}
			<main>
				{laid.layout.width[0] ? (
					<Graph
						laid={laid}
						address={address}
						canTurn={!held.reversed && !laid.layout.change}
					>
						<Segments
							label="Counted in"
							options={
								[
									['bytes', 'Bytes'],
									['blocks', 'Blocks'],
								] as const
							}
							chosen={weight}
							onChoose={(w) => go({ set: { weight: w } })}
						/>
					</Graph>
				) : (
					<Notice title="Nothing matched." />
				)}
			</main>
		</div>
	);
}

const held = JSON.parse(document.getElementById('held')!.textContent!) as Held;
document.title = `${held.title} – heapcast`;
render(<Alone held={held} />, document.getElementById('page')!);
