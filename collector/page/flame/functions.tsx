// The table beside a flame graph: a row a function, with what it has by itself and with all that it calls.
import { useMemo } from 'preact/hooks';
import { go } from '../base/address';
import { count, percent, size } from '../base/format';
import { functionOf, moduleOf, placeOf, selfOf, type Layout, type Match } from './layout';

export interface FunctionRow {
	name: string;
	place: string;
	module: string;
	self: number;
	total: number; // counted once where it calls itself
	change: number;
	matches: boolean;
}

export function functionRows(layout: Layout, match: Match | undefined): FunctionRow[] {
	const { flame, changes } = layout;
	const rows = new Map<number, FunctionRow>();
	const open = new Map<number, number>(); // of a function: one behind the last node below its outermost frame

	for (let node = 1; node < layout.count; node++) {
		const frame = flame.nodes.frame[node]!;
		const key = flame.frames.function[frame]! * 65536 + flame.frames.module[frame]!;
		let row = rows.get(key);
		if (!row) {
			row = { name: functionOf(flame, node), place: placeOf(flame, node), module: moduleOf(flame, node), self: 0, total: 0, change: 0, matches: false };
			rows.set(key, row);
		}
		row.self += selfOf(layout, node);
		row.matches ||= !!match?.frames[frame];
		if (node < (open.get(key) ?? 0)) continue;
		open.set(key, layout.end[node]!);
		row.total += layout.amounts[node]!;
		row.change += changes ? changes[node]! : 0;
	}
	return [...rows.values()];
}

const ROWS_MAX = 200;

export function FunctionTable(props: { layout: Layout; blocks: boolean; picked: string; match: Match | undefined }) {
	const { layout, match } = props;
	const { changes } = layout;
	const rows = useMemo(() => {
		const all = functionRows(layout, match);
		const found = match ? all.filter((r) => r.matches) : all;
		return found.sort(changes ? (a, b) => Math.abs(b.change) - Math.abs(a.change) : (a, b) => b.self - a.self || b.total - a.total);
	}, [layout, match]);
	const show = props.blocks ? count : size;
	const whole = layout.amounts[0]!;

	return (
		<div class="tablebox functions" tabIndex={0}>
			<table>
				<thead>
					<tr>
						<th>Function</th>
						<th>Place</th>
						<th class="n">Self</th>
						<th class="n">Total</th>
						<th class="n">%</th>
						{changes && <th class="n">Change</th>}
					</tr>
				</thead>
				<tbody>
					{rows.slice(0, ROWS_MAX).map((r) => {
						const site = [r.name, r.place, r.module].join('@');
						return (
							<tr aria-selected={site === props.picked} onClick={() => go({ set: { site } }, true)}>
								<td class="text">
									<button type="button" class="plain" onClick={() => go({ set: { site } }, true)}>
										{r.name}
									</button>
								</td>
								<td class="text dim">{r.place ? r.place.slice(r.place.lastIndexOf('/') + 1) : r.module.slice(r.module.lastIndexOf('/') + 1)}</td>
								<td class="n">{show(r.self)}</td>
								<td class="n">{show(r.total)}</td>
								<td class="n">{percent(r.total, whole)}</td>
								{changes && <td class="n">{`${r.change > 0 ? '+' : ''}${show(r.change)}`}</td>}
							</tr>
						);
					})}
				</tbody>
			</table>
		</div>
	);
}
