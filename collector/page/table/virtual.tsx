// A grid whose rows the server has: they are asked for by the page as they scroll into view.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, inTwoSteps, type AskError } from '../base/ask';
import { Grid, type Column, type Sorting } from '../base/grid';
import { Notice } from '../base/ui';

const PAGE = 50;
const PAGES_MAX = 60;
const ASK_MS = 40;

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

const empty = <R,>(question: string, version: string): Store<R> => ({
	question,
	version,
	total: undefined,
	pages: new Map(),
	flying: new Map(),
	error: undefined,
});

export interface VirtualTableProps<R, A> extends Sorting {
	label: string;
	columns: Column<R>[];
	/** The question for `count` rows from `skip` on. */
	path: (skip: number, count: number) => string;
	read: (answer: A) => Rows<R>;
	keyOf: (row: R) => string;
	/** The key of the row that is selected. */
	picked: string;
	onPick: (row: R) => void;
	/** How high a row is, in pixels. */
	rowHeight?: number;
	/** Asks anew, where it is, when it changes. */
	version?: number;
	/**
	 * Where another path can be the same question (of the peak, which moves): what stays the same
	 * then.
	 */
	question?: string;
	/** Instead of no rows. */
	none: ComponentChildren;
}

/** Pages of rows: those that are seen are asked for, what is out of sight again is cancelled. */
function usePages<R, A>(
	props: Pick<VirtualTableProps<R, A>, 'path' | 'read'> & { question: string; version: string },
) {
	const [, draw] = useState(0);
	const { question, version } = props;
	const now = useRef(empty<R>(question, version));
	const before = useRef<Store<R>>();
	const timer = useRef<ReturnType<typeof setTimeout>>();
	const wanted = useRef<[number, number]>([0, 0]);
	const mounted = useRef(true);
	const latest = useRef(props); // a timer may look for a question that is newer than itself
	latest.current = props;

	// What grows is asked for anew when the question before has been answered, or it would never
	// be.
	const { current } = now;
	if (
		current.question !== question ||
		(current.version !== version && (current.total !== undefined || current.error))
	) {
		for (const abort of current.flying.values()) abort.abort();
		if (current.total !== undefined) before.current = current;
		now.current = empty(question, version);
	}

	const get = (store: Store<R>, page: number) => {
		const abort = new AbortController();
		store.flying.set(page, abort);
		const take = (answer: A) => {
			const { rows, total } = props.read(answer);
			store.total = total;
			store.error = undefined;
			store.pages.set(page, rows);
			for (const oldest of store.pages.keys()) {
				if (store.pages.size <= PAGES_MAX) break;
				store.pages.delete(oldest);
			}
			if (mounted.current && store === now.current) draw((n) => n + 1);
		};
		inTwoSteps(
			latest.current.path(page * PAGE, PAGE),
			abort.signal,
			(path) => ask<A>(path, { signal: abort.signal }),
			take,
		)
			.then((answer) => {
				store.flying.delete(page);
				take(answer);
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
			if (
				!store.pages.has(page) &&
				!store.flying.has(page) &&
				(store.total === undefined || page * PAGE < store.total || page === 0)
			)
				get(store, page);
	};
	useEffect(
		() => () => {
			mounted.current = false;
			clearTimeout(timer.current);
			for (const abort of now.current.flying.values()) abort.abort();
		},
		[],
	);

	const shown =
		now.current.total === undefined && !now.current.error && before.current
			? before.current
			: now.current;
	return {
		total: shown.total,
		error: now.current.error,
		stale: shown.question !== question,
		row: (index: number): R | undefined =>
			shown.pages.get(Math.floor(index / PAGE))?.[index % PAGE],
		see: (first: number, last: number) => {
			wanted.current = [
				Math.floor(Math.max(0, first) / PAGE),
				Math.floor(Math.max(0, last) / PAGE),
			];
			if (now.current.total === undefined) look();
			else timer.current ??= setTimeout(look, ASK_MS);
		},
		again: () => {
			now.current.error = undefined;
			draw((n) => n + 1);
		},
	};
}

export function VirtualTable<R, A>(props: VirtualTableProps<R, A>) {
	const path = props.path(0, PAGE);
	const question = props.question ?? path;
	const pages = usePages<R, A>({
		path: props.path,
		read: props.read,
		question,
		version: `${path} ${props.version ?? 0}`,
	});

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
	return (
		<Grid
			{...props}
			total={pages.total ?? 0}
			row={pages.row}
			question={question}
			onSee={pages.see}
			waiting={pages.total === undefined}
			stale={pages.stale}
		/>
	);
}
