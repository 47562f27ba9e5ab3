// The blocks in use on the pages of the square that is selected.
import { changed, filtersOf, go, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, duration, size } from '../base/format';
import type { Moment } from '../base/moment';
import { Answered } from '../base/ui';
import { nanoseconds, type Stream } from '../api/types';
import type { Block } from '../api/memory';
import { hex, siteOf } from '../maps/text';

const SHOWN = 100;

interface Allocations {
	allocations: Block[];
	total_count: number;
}

export interface Spot {
	from: number;
	to: number;
}

/** "7f12a000-7f12b000" */
export function spotOf(text: string | null): Spot | undefined {
	const found = /^([0-9a-f]+)-([0-9a-f]+)$/.exec(text ?? '');
	return found ? { from: parseInt(found[1]!, 16), to: parseInt(found[2]!, 16) } : undefined;
}

export function spotText(spot: Spot): string {
	return `${spot.from.toString(16)}-${spot.to.toString(16)}`;
}

function Row(props: { block: Block; spot: Spot; now: number; address: Address }) {
	const { block, spot } = props;
	const born = nanoseconds(block.timestamp_relative);
	const picked = props.address.params.get('picked') === String(block.backtrace_id);
	const pick = () => go({ set: { picked: String(block.backtrace_id), site: undefined } }, true);
	return (
		<tr onClick={pick} aria-selected={picked}>
			<td>
				<code>{hex(block.address)}</code>{' '}
				{block.address < spot.from && <span class="dim">begins before</span>}
			</td>
			<td class="n" title={`${count(block.size)} B`}>
				{size(block.size)}
			</td>
			<td class="n" title={`allocated at ${duration(born)}`}>
				{duration(Math.max(0, props.now - born))}
			</td>
			<td class="n">{block.thread}</td>
			<td class="text">
				<button type="button" class="plain" onClick={pick}>
					{siteOf(block)}
				</button>
			</td>
		</tr>
	);
}

export function Blocks(props: {
	address: Address;
	stream: Stream;
	spot: Spot;
	moment: Moment;
	version: number;
}) {
	const { address, stream, spot, moment } = props;
	const then = moment.at ?? '100%';
	const filters = filtersOf(address).filter(
		([name]) => !/^(address_min|address_max|alive_at)$/.test(name),
	);
	const common: [string, string][] = [['alive_at', then], ['sort_by', 'address'], ...filters];
	const here = useAnswer<Allocations>(
		about(stream.id, 'allocations', [
			['address_min', spot.from],
			['address_max', spot.to - 1],
			['count', SHOWN],
			...common,
		]),
		props.version,
	);
	// A block that begins on an earlier page may reach here.
	const before = useAnswer<Allocations>(
		about(stream.id, 'allocations', [
			['address_max', spot.from - 1],
			['order', 'dsc'],
			['count', 1],
			...common,
		]),
		props.version,
	).data?.allocations[0];
	const reaches = before && before.address + before.size > spot.from ? [before] : [];
	const range = {
		address_min: `0x${spot.from.toString(16)}`,
		address_max: `0x${(spot.to - 1).toString(16)}`,
	};

	return (
		<section class="spot" aria-label="What lies on the selected pages">
			<div class="tools">
				<strong>
					<code>{`${hex(spot.from)}–${hex(spot.to)}`}</code>
				</strong>
				<span class="dim">
					{here.data
						? `${count(here.data.total_count + reaches.length)} ` +
							`${here.data.total_count + reaches.length === 1 ? 'block' : 'blocks'}` +
							` in use ${moment.text}`
						: ''}
				</span>
				<span class="grow" />
				<a
					class="button"
					href={changed(address, {
						view: 'allocations',
						set: { ...range, spot: undefined },
					})}
				>
					All allocations there
				</a>
				<a
					class="button"
					href={changed(address, { view: 'flame', set: { ...range, spot: undefined } })}
				>
					Flame graph
				</a>
				<button
					type="button"
					class="button"
					onClick={() => go({ set: { spot: undefined } }, true)}
				>
					Close
				</button>
			</div>
			<Answered answer={here}>
				{({ allocations, total_count }) =>
					allocations.length + reaches.length === 0 ? (
						<p class="dim note">No block was in use here.</p>
					) : (
						<div class="tablebox" tabIndex={0}>
							<table>
								<thead>
									<tr>
										<th>Address</th>
										<th class="n">Size</th>
										<th class="n">Age</th>
										<th class="n">Thread</th>
										<th>Allocated by</th>
									</tr>
								</thead>
								<tbody>
									{[...reaches, ...allocations].map((block) => (
										<Row
											block={block}
											spot={spot}
											now={moment.ns}
											address={address}
										/>
									))}
								</tbody>
							</table>
							{total_count > SHOWN && (
								<p class="more">
									The first {SHOWN} of {count(total_count)} are shown.
								</p>
							)}
						</div>
					)
				}
			</Answered>
		</section>
	);
}
