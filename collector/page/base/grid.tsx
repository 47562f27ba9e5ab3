// A table of any length: only the rows in sight are in the document. All rows are equally high.
// Browsers end an element's height at some 16 million pixels; a longer table is scrolled through a
// scale of its own:
//
//	scroller   0 ................ HEIGHT_MAX     what the browser scrolls
//	rows       0 ................................ total * height     `top` is where in it the first
//	                                                                row is shown from
//
// The bar of a long table jumps (one of its pixels is many rows), the wheel and a finger move row
// by row. Rows lie in a layer that stays where it is, so that nothing is ever blank.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useSize } from './ui';
import './grid.css';

const ROW = 24; // unless the table says another height
const HEAD = 27;
const HEIGHT_MAX = 8_000_000;
const AHEAD = 12; // rows that are drawn above and below what is seen

export interface Column<R> {
	key: string;
	title: string;
	/** A track of a grid: "90px", "minmax(160px, 2fr)". */
	width: string;
	right?: boolean;
	/** What it is sorted by, if it can be. */
	sort?: string;
	/** What the title means, for who points at it. */
	hint?: string;
	/** The title is only for who listens. */
	silent?: boolean;
	/** Shown if the table is at least so wide, in pixels. */
	from?: number;
	class?: string;
	cell: (row: R, index: number) => ComponentChildren;
}

export interface Sorting {
	sort?: string;
	order?: 'asc' | 'dsc';
	onSort?: (sort: string, order: 'asc' | 'dsc') => void;
}

export interface GridProps<R> extends Sorting {
	label: string;
	columns: Column<R>[];
	total: number;
	/** undefined: it is on its way. */
	row: (index: number) => R | undefined;
	keyOf?: (row: R, index: number) => string;
	/** The key of the row that is selected. */
	picked?: string;
	onPick?: (row: R, index: number) => void;
	/** How high a row is, in pixels. */
	rowHeight?: number;
	rowClass?: (row: R, index: number) => string;
	/** Brings this row into sight when it changes. */
	show?: number | undefined;
	/** What is listed: when it changes, the first row is shown again. */
	question?: string;
	/** Which rows are drawn. */
	onSee?: (first: number, last: number) => void;
	waiting?: boolean;
	stale?: boolean;
	class?: string;
}

/** Rows that are at hand, sorted by what columns say of them. */
export function sorted<R>(
	rows: R[],
	value: (row: R) => number | string,
	order: 'asc' | 'dsc',
): R[] {
	const sign = order === 'asc' ? 1 : -1;
	return [...rows].sort((a, b) => {
		const [x, y] = [value(a), value(b)];
		return sign * (typeof x === 'string' ? x.localeCompare(y as string) : x - (y as number));
	});
}

/** Where in all rows the view is, and the scroller's part of it. */
function useScrolling(total: number, view: number, row: number) {
	const [, draw] = useState(0);
	const scroller = useRef<HTMLDivElement>(null);
	const top = useRef(0);
	const seen = useRef(0);
	const rest = useRef<ReturnType<typeof setTimeout>>();
	const whole = total * row;
	const height = Math.min(whole, HEIGHT_MAX);
	const most = Math.max(0, whole - view);
	const mostSeen = Math.max(0, height - view);
	const scaled = whole > height;

	const move = (to: number) => {
		top.current = Math.max(0, Math.min(most, to));
		const element = scroller.current;
		if (element && mostSeen > 0) {
			seen.current = Math.round((top.current / most) * mostSeen);
			element.scrollTop = seen.current;
		}
		draw((n) => n + 1);
	};
	const onScroll = () => {
		const at = scroller.current!.scrollTop;
		const by = at - seen.current;
		if (Math.abs(by) < 1) return;
		seen.current = at;
		if (!scaled) top.current = Math.min(most, at);
		else if (Math.abs(by) < view && at > 0 && at < mostSeen) {
			top.current = Math.max(0, Math.min(most, top.current + by));
			// The bar is put where it belongs when the finger rests.
			clearTimeout(rest.current);
			rest.current = setTimeout(() => move(top.current), 150);
		} else top.current = mostSeen > 0 ? (at / mostSeen) * most : 0;
		draw((n) => n + 1);
	};
	useEffect(() => {
		const element = scroller.current;
		if (!element || !scaled) return undefined;
		const wheel = (event: WheelEvent) => {
			if (event.ctrlKey || event.shiftKey || !event.deltaY) return;
			event.preventDefault();
			move(
				top.current +
					event.deltaY * (event.deltaMode === 1 ? row : event.deltaMode === 2 ? view : 1),
			);
		};
		element.addEventListener('wheel', wheel, { passive: false });
		return () => element.removeEventListener('wheel', wheel);
	}, [scaled, view, total]);
	useEffect(() => () => clearTimeout(rest.current), []);
	if (top.current > most) top.current = most;
	return { scroller, top: top.current, height, move, onScroll };
}

function Head<R>(props: Sorting & { columns: Column<R>[]; tracks: string }) {
	return (
		<div
			class="vt-head"
			role="row"
			aria-rowindex={1}
			style={{ gridTemplateColumns: props.tracks }}
		>
			{props.columns.map((c) => {
				const sorts = c.sort !== undefined && c.sort === props.sort;
				return (
					<div
						role="columnheader"
						class={c.right ? 'n' : ''}
						title={c.hint ?? (c.silent ? undefined : c.title)}
						aria-sort={
							sorts
								? props.order === 'asc'
									? 'ascending'
									: 'descending'
								: c.sort
									? 'none'
									: undefined
						}
					>
						{c.sort && props.onSort ? (
							<button
								type="button"
								onClick={() =>
									props.onSort!(
										c.sort!,
										sorts && props.order === 'dsc' ? 'asc' : 'dsc',
									)
								}
							>
								{c.title}
								<span aria-hidden="true">
									{sorts ? (props.order === 'asc' ? ' ▴' : ' ▾') : ''}
								</span>
							</button>
						) : c.silent ? (
							<span class="hidden">{c.title}</span>
						) : (
							c.title
						)}
					</div>
				);
			})}
		</div>
	);
}

export function Grid<R>(props: GridProps<R>) {
	const { total, onPick } = props;
	const id = useId();
	const high = props.rowHeight ?? ROW;
	const [box, { width, height: boxHeight }] = useSize<HTMLDivElement>();
	const view = Math.max(0, boxHeight - HEAD);
	const scrolling = useScrolling(total, view, high);
	const first = Math.max(0, Math.floor(scrolling.top / high) - AHEAD);
	const last = Math.floor((scrolling.top + view) / high) + AHEAD;
	const [cursor, setCursor] = useState(-1);
	const pending = useRef(false);
	const shown = props.columns.filter((c) => !c.from || width >= c.from);
	const tracks = shown.map((c) => c.width).join(' ');
	const least = shown.reduce((sum, c) => sum + parseFloat(c.width.replace(/^minmax\(/, '')), 0);

	useEffect(() => props.onSee?.(first, last));
	const asked = useRef(props.question);
	useLayoutEffect(() => {
		if (asked.current === props.question) return;
		asked.current = props.question;
		setCursor(-1);
		scrolling.move(0);
	}, [props.question]);
	useEffect(() => {
		const row = pending.current ? props.row(cursor) : undefined;
		if (row === undefined) return;
		pending.current = false;
		onPick?.(row, cursor);
	});
	const known = view > 0 && total > 0;
	useEffect(() => {
		const at = (props.show ?? -1) * high;
		if (known && at >= 0 && (at < scrolling.top || at + high > scrolling.top + view))
			scrolling.move(at - view / 3);
	}, [props.show, known]);

	const choose = (index: number) => {
		const to = Math.max(0, Math.min(total - 1, index));
		setCursor(to);
		pending.current = true;
		if (to * high < scrolling.top) scrolling.move(to * high);
		else if ((to + 1) * high > scrolling.top + view) scrolling.move((to + 1) * high - view);
	};
	const onClick = (event: MouseEvent, index: number) => {
		// A link or a button in a row is more than its row.
		if (
			onPick &&
			props.row(index) !== undefined &&
			!(event.target as Element).closest('a, button, input')
		)
			choose(index);
	};
	const onKeyDown = (event: KeyboardEvent) => {
		if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey)
			return;
		const page = Math.max(1, Math.floor(view / high) - 1);
		const from = cursor < 0 ? Math.ceil(scrolling.top / high) - 1 : cursor;
		const to = {
			ArrowDown: from + 1,
			ArrowUp: from - 1,
			PageDown: from + page,
			PageUp: from - page,
			Home: 0,
			End: total - 1,
			Enter: from,
		}[event.key];
		if (to === undefined || !total) return;
		event.preventDefault();
		choose(to);
	};

	const rows = [];
	for (let index = first; index <= Math.min(last, total - 1); index++) {
		const row = props.row(index);
		const mine = row !== undefined && props.rowClass ? ` ${props.rowClass(row, index)}` : '';
		rows.push(
			<div
				key={index}
				id={`${id}-${index}`}
				class={`vt-row${index === cursor ? ' at' : ''}${mine}`}
				role="row"
				aria-rowindex={index + 2}
				aria-selected={
					onPick
						? row !== undefined &&
							!!props.picked &&
							props.keyOf?.(row, index) === props.picked
						: undefined
				}
				style={{
					transform: `translateY(${index * high - scrolling.top}px)`,
					gridTemplateColumns: tracks,
					height: `${high}px`,
				}}
				onClick={(event) => onClick(event, index)}
			>
				{shown.map((c) => (
					<div
						role="gridcell"
						data-column={c.key}
						class={`${c.right ? 'n' : ''} ${c.class ?? ''}`}
					>
						{row === undefined ? <span class="vt-wait" /> : c.cell(row, index)}
					</div>
				))}
			</div>,
		);
	}
	return (
		<div class={`vt ${props.stale ? 'stale' : ''} ${props.class ?? ''}`} ref={box}>
			{props.waiting && <div class="wait" role="status" aria-label="Loading" />}
			<div
				class={cursor >= 0 ? 'vt-scroller at' : 'vt-scroller'}
				ref={scrolling.scroller}
				role="grid"
				aria-label={props.label}
				aria-rowcount={total + 1}
				aria-colcount={shown.length}
				aria-busy={props.stale}
				tabIndex={0}
				aria-activedescendant={
					cursor >= first && cursor <= last && cursor < total
						? `${id}-${cursor}`
						: undefined
				}
				onScroll={scrolling.onScroll}
				onKeyDown={onKeyDown}
			>
				<div
					class="vt-inner"
					role="presentation"
					style={{ height: `${scrolling.height + HEAD}px`, minWidth: `${least}px` }}
				>
					<Head
						columns={shown}
						tracks={tracks}
						sort={props.sort}
						order={props.order}
						onSort={props.onSort}
					/>
					<div class="vt-rows" role="rowgroup">
						{rows}
					</div>
				</div>
			</div>
		</div>
	);
}
