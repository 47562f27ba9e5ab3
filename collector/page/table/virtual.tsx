// A table of any length: rows are asked for by the page as they scroll into view, and only those in view are in the document. Browsers end an
// element's height at some 16 million pixels; a longer table is scrolled through a scale of its own:
//
//	scroller   0 ................ HEIGHT_MAX     what the browser scrolls
//	rows       0 ................................ total * ROW     `top` is where in it the first row is shown from
//
// The bar of a long table jumps (one of its pixels is many rows), the wheel and a finger move row by row. Rows lie in a layer that
// stays where it is, so that nothing is ever blank.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ask, type AskError } from '../base/ask';
import { Notice, useSize } from '../base/ui';
import './virtual.css';

const ROW = 24; // unless the table says another height
const HEAD = 27;
const HEIGHT_MAX = 8_000_000;
const PAGE = 50;
const PAGES_MAX = 60;
const AHEAD = 12; // rows that are drawn above and below what is seen
const ASK_MS = 40;

export interface Column<R> {
	key: string;
	title: string;
	/** A track of a grid: "90px", "minmax(160px, 2fr)". */
	width: string;
	right?: boolean;
	/** What it is for the server, if it can sort by it. */
	sort?: string;
	/** What the title means, for who points at it. */
	hint?: string;
	/** Shown if the table is at least so wide, in pixels. */
	from?: number;
	cell: (row: R, index: number) => ComponentChildren;
}

export interface Rows<R> {
	rows: R[];
	total: number;
}

interface Store<R> {
	question: string;
	version: string;
	total: number | undefined;
	pages: Map<number, R[]>;
	flying: Map<number, AbortController>;
	error: AskError | undefined;
}

const empty = <R,>(question: string, version: string): Store<R> => ({ question, version, total: undefined, pages: new Map(), flying: new Map(), error: undefined });

export interface VirtualTableProps<R, A> {
	label: string;
	columns: Column<R>[];
	/** The question for `count` rows from `skip` on. */
	path: (skip: number, count: number) => string;
	read: (answer: A) => Rows<R>;
	keyOf: (row: R) => string;
	/** The key of the row that is selected. */
	picked: string;
	onPick: (row: R) => void;
	sort?: string;
	order?: 'asc' | 'dsc';
	onSort?: (sort: string, order: 'asc' | 'dsc') => void;
	/** How high a row is, in pixels. */
	rowHeight?: number;
	/** Asks anew, where it is, when it changes. */
	version?: number;
	/** Where another path can be the same question (of the peak, which moves): what stays the same then. */
	question?: string;
	/** Instead of no rows. */
	none: ComponentChildren;
}

/** Pages of rows: those that are wanted are asked for, what is out of sight again is cancelled. */
function usePages<R, A>(props: Pick<VirtualTableProps<R, A>, 'path' | 'read'> & { question: string; version: string }, from: number, to: number) {
	const [, draw] = useState(0);
	const { question, version } = props;
	const now = useRef(empty<R>(question, version));
	const before = useRef<Store<R>>();
	const timer = useRef<ReturnType<typeof setTimeout>>();
	const wanted = useRef<[number, number]>([0, 0]);
	const mounted = useRef(true);

	// What grows is asked for anew when the question before has been answered, or it would never be.
	const { current } = now;
	if (current.question !== question || (current.version !== version && (current.total !== undefined || current.error))) {
		for (const abort of current.flying.values()) abort.abort();
		if (current.total !== undefined) before.current = current;
		now.current = empty(question, version);
	}
	wanted.current = [Math.floor(Math.max(0, from) / PAGE), Math.floor(Math.max(0, to) / PAGE)];

	const get = (store: Store<R>, page: number) => {
		const abort = new AbortController();
		store.flying.set(page, abort);
		ask<A>(props.path(page * PAGE, PAGE), { signal: abort.signal })
			.then((answer) => {
				store.flying.delete(page);
				const { rows, total } = props.read(answer);
				store.total = total;
				store.error = undefined;
				store.pages.set(page, rows);
				for (const oldest of store.pages.keys()) {
					if (store.pages.size <= PAGES_MAX) break;
					store.pages.delete(oldest);
				}
				if (mounted.current && store === now.current) draw((n) => n + 1);
			})
			.catch((error) => {
				store.flying.delete(page);
				if (abort.signal.aborted || !mounted.current || store !== now.current) return;
				store.error = error;
				draw((n) => n + 1);
			});
	};
	const look = () => {
		timer.current = undefined;
		const store = now.current;
		const [first, last] = wanted.current;
		for (const [page, abort] of store.flying)
			if (page < first - 1 || page > last + 1) {
				abort.abort();
				store.flying.delete(page);
			}
		if (store.error) return;
		for (let page = first; page <= last; page++)
			if (!store.pages.has(page) && !store.flying.has(page) && (store.total === undefined || page * PAGE < store.total || page === 0)) get(store, page);
	};
	useEffect(() => {
		if (now.current.total === undefined) look();
		else timer.current ??= setTimeout(look, ASK_MS);
	});
	useEffect(
		() => () => {
			mounted.current = false;
			clearTimeout(timer.current);
			for (const abort of now.current.flying.values()) abort.abort();
		},
		[],
	);

	const shown = now.current.total === undefined && !now.current.error && before.current ? before.current : now.current;
	return {
		total: shown.total,
		error: now.current.error,
		stale: shown.question !== question,
		row: (index: number): R | undefined => shown.pages.get(Math.floor(index / PAGE))?.[index % PAGE],
		again: () => {
			now.current.error = undefined;
			draw((n) => n + 1);
		},
	};
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
			move(top.current + event.deltaY * (event.deltaMode === 1 ? row : event.deltaMode === 2 ? view : 1));
		};
		element.addEventListener('wheel', wheel, { passive: false });
		return () => element.removeEventListener('wheel', wheel);
	}, [scaled, view, total]);
	useEffect(() => () => clearTimeout(rest.current), []);
	if (top.current > most) top.current = most;
	return { scroller, top: top.current, height, move, onScroll };
}

function Head<R, A>(props: VirtualTableProps<R, A> & { tracks: string; shown: Column<R>[] }) {
	return (
		<div class="vt-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: props.tracks }}>
			{props.shown.map((c) => {
				const sorted = c.sort !== undefined && c.sort === props.sort;
				return (
					<div
						role="columnheader"
						class={c.right ? 'n' : ''}
						title={c.hint}
						aria-sort={sorted ? (props.order === 'asc' ? 'ascending' : 'descending') : c.sort ? 'none' : undefined}
					>
						{c.sort && props.onSort ? (
							<button type="button" onClick={() => props.onSort!(c.sort!, sorted && props.order === 'dsc' ? 'asc' : 'dsc')}>
								{c.title}
								<span aria-hidden="true">{sorted ? (props.order === 'asc' ? ' ▴' : ' ▾') : ''}</span>
							</button>
						) : (
							c.title
						)}
					</div>
				);
			})}
		</div>
	);
}

export function VirtualTable<R, A>(props: VirtualTableProps<R, A>) {
	const id = useId();
	const high = props.rowHeight ?? ROW;
	const [box, { width, height: boxHeight }] = useSize<HTMLDivElement>();
	const view = Math.max(0, boxHeight - HEAD);
	const known = useRef(0);
	const scrolling = useScrolling(known.current, view, high);
	const first = Math.max(0, Math.floor(scrolling.top / high) - AHEAD);
	const last = Math.floor((scrolling.top + view) / high) + AHEAD;
	const path = props.path(0, PAGE);
	const question = props.question ?? path;
	const pages = usePages<R, A>({ path: props.path, read: props.read, question, version: `${path} ${props.version ?? 0}` }, first, last);
	const [cursor, setCursor] = useState(-1);
	const pending = useRef(false);
	const [, draw] = useState(0);
	const total = pages.total ?? 0;
	const shown = props.columns.filter((c) => !c.from || width >= c.from);
	const tracks = shown.map((c) => c.width).join(' ');
	const least = shown.reduce((sum, c) => sum + parseFloat(c.width.replace(/^minmax\(/, '')), 0);

	useLayoutEffect(() => {
		if (known.current === total) return;
		known.current = total;
		draw((n) => n + 1);
	}, [total]);
	// Another question begins at its first row.
	const asked = useRef(question);
	useLayoutEffect(() => {
		if (asked.current === question) return;
		asked.current = question;
		setCursor(-1);
		scrolling.move(0);
	}, [question]);
	useEffect(() => {
		const row = pending.current ? pages.row(cursor) : undefined;
		if (row === undefined) return;
		pending.current = false;
		props.onPick(row);
	});

	const choose = (index: number) => {
		const to = Math.max(0, Math.min(total - 1, index));
		setCursor(to);
		pending.current = true;
		if (to * high < scrolling.top) scrolling.move(to * high);
		else if ((to + 1) * high > scrolling.top + view) scrolling.move((to + 1) * high - view);
	};
	const onKeyDown = (event: KeyboardEvent) => {
		if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
		const page = Math.max(1, Math.floor(view / high) - 1);
		const from = cursor < 0 ? Math.ceil(scrolling.top / high) - 1 : cursor;
		const to = { ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: total - 1, Enter: from }[event.key];
		if (to === undefined || !total) return;
		event.preventDefault();
		choose(to);
	};

	if (pages.error && !pages.stale)
		return (
			<Notice title="This can't be answered.">
				{pages.error.message}{' '}
				<button type="button" class="button" onClick={pages.again}>
					Try again
				</button>
			</Notice>
		);
	if (pages.total === 0 && !pages.stale) return <>{props.none}</>;

	const rows = [];
	for (let index = first; index <= Math.min(last, total - 1); index++) {
		const row = pages.row(index);
		const key = row === undefined ? '' : props.keyOf(row);
		rows.push(
			<div
				key={index}
				id={`${id}-${index}`}
				class={index === cursor ? 'vt-row at' : 'vt-row'}
				role="row"
				aria-rowindex={index + 2}
				aria-selected={row !== undefined && key === props.picked}
				style={{ transform: `translateY(${index * high - scrolling.top}px)`, gridTemplateColumns: tracks, height: `${high}px` }}
				onClick={() => row !== undefined && choose(index)}
			>
				{shown.map((c) => (
					<div role="gridcell" class={c.right ? 'n' : ''}>
						{row === undefined ? <span class="vt-wait" /> : c.cell(row, index)}
					</div>
				))}
			</div>,
		);
	}
	return (
		<div class={pages.stale ? 'vt stale' : 'vt'} ref={box}>
			{pages.total === undefined && <div class="wait" role="status" aria-label="Loading" />}
			<div
				class={cursor >= 0 ? 'vt-scroller at' : 'vt-scroller'}
				ref={scrolling.scroller}
				role="grid"
				aria-label={props.label}
				aria-rowcount={total + 1}
				aria-colcount={shown.length}
				aria-busy={pages.stale}
				tabIndex={0}
				aria-activedescendant={cursor >= first && cursor <= last && cursor < total ? `${id}-${cursor}` : undefined}
				onScroll={scrolling.onScroll}
				onKeyDown={onKeyDown}
			>
				<div class="vt-inner" role="presentation" style={{ height: `${scrolling.height + HEAD}px`, minWidth: `${least}px` }}>
					<Head {...props} tracks={tracks} shown={shown} />
					<div class="vt-rows" role="rowgroup">
						{rows}
					</div>
				</div>
			</div>
		</div>
	);
}
