// What is under the pointer.
import { count, percent, size } from '../base/format';
import { functionOf, moduleOf, placeOf, type Layout } from './layout';

/**
 * Of a sampled recording, half the interval that holds the truth in 95 of 100: squares of errors
 * add, as bytes do, so that of a part it is the root of that part of the whole. The server knows
 * the whole's; a part of few large blocks is off by more, one of many small by less.
 */
export function errorOf(layout: Layout, amount: number, blocks: boolean): number {
	const whole = (blocks ? layout.total.blocks_error : layout.total.bytes_error) ?? 0;
	const all = blocks ? layout.total.blocks : layout.total.bytes;
	return whole && all > 0 && amount > 0 ? whole * Math.sqrt(Math.min(1, amount / all)) : 0;
}

export function Tip(props: {
	layout: Layout;
	node: number;
	x: number;
	y: number;
	blocks: boolean;
	whole: number;
}) {
	const { layout, node, blocks } = props;
	const text = blocks ? count : size;
	const frame = layout.frame[node]!;
	const total = layout.amount[node]!;
	const self = layout.self[node]!;
	const about = (amount: number) => {
		const error = errorOf(layout, amount, blocks);
		return error ? ` ± about ${text(error)}` : '';
	};
	return (
		<div class="tip" role="tooltip" style={{ left: `${props.x}px`, top: `${props.y}px` }}>
			<strong>{functionOf(layout, frame)}</strong>
			<div class="dim">
				{[placeOf(layout, frame), moduleOf(layout, frame)].filter(Boolean).join(' · ')}
			</div>
			<div>
				{text(total)}
				{about(total)} · {percent(total, props.whole)} %
			</div>
			{self > 0 && self !== total && (
				<div>
					{text(self)}
					{about(self)} of it by itself
				</div>
			)}
			{self === total && frame >= 0 && <div>all by itself</div>}
			{layout.change && (
				<div>
					{layout.change[node]! > 0 ? '+' : ''}
					{text(layout.change[node]!)} since the base
				</div>
			)}
		</div>
	);
}
