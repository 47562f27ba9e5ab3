// What differs from another recording or moment, by call site: the largest difference first.
import { changed, filtersOf, inBlocks, valueOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { baseName, count, size } from '../base/format';
import { Answered, Notice } from '../base/ui';
import { baseInWords } from '../frame/compare';
import { useFleet } from '../frame/fleet_state';
import type { Diff } from '../api/types';
import type { ViewProps } from '../frame/views';

const COUNT = 300;
const KINDS = { added: 'new', removed: 'gone', changed: '' };

function signed(value: number, text: (n: number) => string): string {
	return `${value > 0 ? '+' : ''}${text(value)}`;
}

function Difference(props: ViewProps & { diff: Diff; base: string }) {
	const { diff, address, stream } = props;
	const { streams } = useFleet();
	const blocks = inBlocks(address);
	const text = blocks ? count : size;
	const of = (sum: { bytes: number; blocks: number }) => (blocks ? sum.blocks : sum.bytes);

	return (
		<>
			<div class="tools">
				<strong>{signed(blocks ? diff.blocks : diff.bytes, text)}</strong>
				<span class="dim">
					{text(of(diff.new))} here, {text(of(diff.base))} in {baseInWords(props.base, streams, stream.id.slice(0, 12))}: {size(diff.added_bytes)} at new call sites,{' '}
					{size(diff.removed_bytes)} at those that are gone, {size(diff.grown_bytes)} more and {size(diff.shrunk_bytes)} less at the others
				</span>
				<span class="grow" />
				<a class="button" href={changed(address, { view: 'flame' })}>
					As a flame graph
				</a>
			</div>
			{diff.groups.length === 0 ? (
				<Notice title="There is no difference.">Both have the same at each call site.</Notice>
			) : (
				<div class="tablebox" tabIndex={0}>
					<table>
						<thead>
							<tr>
								<th>Call site</th>
								<th class="minor">Place</th>
								<th class="minor">Module</th>
								<th class="n">Difference</th>
								<th class="n minor">Here</th>
								<th class="n minor">There</th>
								<th />
							</tr>
						</thead>
						<tbody>
							{diff.groups.map((g) => {
								const change = blocks ? g.blocks : g.bytes;
								return (
									<tr>
										<td class="text">
											<a href={changed(address, { view: 'flame', set: { find: g.function ?? undefined } })}>{g.function ?? '[unknown]'}</a>
										</td>
										<td class="text dim minor">{g.file ? `${baseName(g.file)}:${g.line}` : ''}</td>
										<td class="text dim minor">{baseName(g.module ?? '')}</td>
										<td class={`n ${change > 0 ? 'more' : 'less'}`}>{signed(change, text)}</td>
										<td class="n minor">{g.new ? text(of(g.new)) : ''}</td>
										<td class="n minor">{g.base ? text(of(g.base)) : ''}</td>
										<td class="dim">{KINDS[g.kind]}</td>
									</tr>
								);
							})}
						</tbody>
					</table>
				</div>
			)}
		</>
	);
}

export function DiffView(props: ViewProps) {
	const { address, stream } = props;
	const base = address.params.get('base');
	const at = address.params.get('at');
	const value = valueOf(address);
	const answer = useAnswer<Diff>(
		base
			? about(stream.id, 'diff', [['base', base], ['value', value], ['at', at && value === 'in-use' ? at : undefined], ['count', COUNT], ...filtersOf(address)])
			: null,
		stream.state === 'live' ? (stream.events ?? 0) : 0,
	);
	if (!base) return <Notice title="Nothing to compare with yet.">“Compare…” above chooses another recording, or the moment that you have clicked in the time strip.</Notice>;
	return <Answered answer={answer}>{(diff) => <Difference {...props} diff={diff} base={base} />}</Answered>;
}
