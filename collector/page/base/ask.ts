// Questions to the collector. A question that is not wanted any more is cancelled, which ends the
// work for it there, too.
import { useEffect, useRef, useState } from 'preact/hooks';

/** What the server says was wrong; `parameter` of what. */
export class AskError extends Error {
	constructor(
		message: string,
		readonly status: number,
		readonly parameter?: string,
	) {
		super(message);
	}
}

const TOKEN = 'heapcast-token';

/**
 * The token comes with the address that the collector prints (#token=...), and is taken out of
 * sight at once.
 */
export function takeToken(): void {
	const found = /[#&]token=([^&]+)/.exec(location.hash);
	if (!found) return;
	sessionStorage.setItem(TOKEN, found[1]!);
	history.replaceState(null, '', '#/');
}

/** As somebody typed it. */
export function setToken(token: string): void {
	sessionStorage.setItem(TOKEN, token);
}

export function hasToken(): boolean {
	return sessionStorage.getItem(TOKEN) !== null;
}

/** What says who asks. */
export function tokenHeaders(): Record<string, string> {
	const token = sessionStorage.getItem(TOKEN);
	return token ? { Authorization: `Bearer ${token}` } : {};
}

export interface AskOptions {
	signal?: AbortSignal;
	/** Makes it a POST: of JSON. */
	body?: unknown;
	/** Makes it a POST: of plain text, as a statement of SQL is. */
	text?: string;
}

/**
 * GET, or with a body POST. `path` is relative to the page. Whatever the server calls an error is
 * thrown.
 */
export async function send(path: string, options: AskOptions = {}): Promise<Response> {
	const headers = tokenHeaders();
	if (options.body !== undefined) headers['Content-Type'] = 'application/json';
	const body = options.body === undefined ? options.text : JSON.stringify(options.body);
	let response: Response;
	try {
		response = await fetch(path, {
			signal: options.signal ?? null,
			headers,
			...(body === undefined ? {} : { method: 'POST', body }),
		});
	} catch (error) {
		if (error instanceof AskError || (error as Error).name === 'AbortError') throw error;
		throw new AskError('The collector does not answer: is it still running?', 0);
	}
	if (!response.ok) {
		const said = await response.json().catch(() => ({}));
		throw new AskError(
			said.error ?? `The collector answers ${response.status}.`,
			response.status,
			said.parameter,
		);
	}
	return response;
}

/** A question that is on its way. */
export interface Asked {
	path: string;
	/** In ms of performance.now(). */
	since: number;
	/** Who asked gets an error that says so. */
	cancel: () => void;
}

/**
 * All questions about recordings that are on their way, the oldest first; statements of the console
 * are its own.
 */
export const asked = new Set<Asked>();

export const CANCELLED = -1;

/**
 * Tells that it is on its way; whoever takes it back hears why. Call what this returns when it is
 * answered.
 */
export function announce(path: string, onCancel: (why: AskError) => void): () => void {
	const over = () => void asked.delete(question);
	const question: Asked = {
		path,
		since: performance.now(),
		cancel: () => {
			over();
			onCancel(new AskError('The question was cancelled.', CANCELLED));
		},
	};
	asked.add(question);
	return over;
}

export async function ask<T>(path: string, options: AskOptions = {}): Promise<T> {
	if (!path.startsWith('data/') || options.text !== undefined || options.body !== undefined)
		return (await (await send(path, options)).json()) as T;
	const control = new AbortController();
	const follow = () => control.abort();
	const over = announce(path, (why) => control.abort(why));
	if (options.signal?.aborted) follow();
	options.signal?.addEventListener('abort', follow);
	try {
		return (await (await send(path, { signal: control.signal })).json()) as T;
	} finally {
		over();
		options.signal?.removeEventListener('abort', follow);
	}
}

/** The path of a question about a recording. Parameters without a value are left out. */
export function about(
	stream: string,
	what: string,
	params: Iterable<[string, string | number | undefined]> = [],
): string {
	const query = new URLSearchParams();
	for (const [name, value] of params)
		if (value !== undefined && value !== '') query.append(name, String(value));
	const text = query.toString();
	return `data/${encodeURIComponent(stream)}/${what}${text ? `?${text}` : ''}`;
}

// Answers of recordings that do not change are kept for who comes back.
const KEPT_MAX = 40;
const kept = new Map<string, unknown>();

function keep(path: string, answer: unknown): void {
	kept.delete(path);
	kept.set(path, answer);
	for (const oldest of kept.keys()) {
		if (kept.size <= KEPT_MAX) break;
		kept.delete(oldest);
	}
}

// Of a large recording a filter or a range is answered in two steps: an estimate from a part of the
// blocks, and what is true.
const LARGE = 20_000_000; // events
const ESTIMATE_FROM = 3_000_000; // events that an estimate looks at, or up to twice as many

const ESTIMATED = new Set([
	'timeline',
	'timeline_leaked',
	'report',
	'histogram',
	'analyze',
	'allocation_groups',
	'flame',
	'leaks',
	'snapshot',
	'peak',
]);
/** What is no filter. */
const OTHERS = new Set([
	'start',
	'end',
	'points',
	'by',
	'bands',
	'series',
	'weight',
	'value',
	'at',
	'count',
	'skip',
	'sort_by',
	'order',
	'reversed',
	'base',
	'young',
	'suppress',
]);
/** The sums of a range are kept: they come at once. */
const QUICK_RANGES = new Set(['flame', 'allocation_groups', 'report']);

let large: string | undefined;
let oneIn = 0;

/** Which recording is shown, and how large it is. */
export function showing(stream: string | undefined, events = 0): void {
	large = stream && events > LARGE ? stream : undefined;
	oneIn = Math.min(1024, 2 ** Math.floor(Math.log2(events / ESTIMATE_FROM)));
}

/** The question for an estimate; undefined: what is true comes quickly. */
export function estimateOf(path: string): string | undefined {
	const [, stream, route, query] = /^data\/([^/]+)\/(\w+)\?(.*)$/.exec(path) ?? [];
	if (!route || !query || stream !== large || !ESTIMATED.has(route)) return undefined;
	const filters = [...new URLSearchParams(query).keys()].filter(
		(name) => !OTHERS.has(name) || (name === 'at' && route === 'histogram'),
	);
	if (
		!filters.length ||
		(QUICK_RANGES.has(route) && filters.every((name) => name === 'from' || name === 'to'))
	)
		return undefined;
	// Bands take three passes where other questions take one.
	const share = new URLSearchParams(query).has('by') ? Math.min(1024, 4 * oneIn) : oneIn;
	return `${path}&preview=${share}`;
}

function shareOf(estimate: string): number {
	return Number(estimate.slice(estimate.lastIndexOf('=') + 1));
}

/** Estimates that are shown: the signal that ends each question, and its share (one in so many). */
const estimates = new Map<AbortSignal, number>();
const watchers = new Set<() => void>();

/** `share`: 0 when the estimate is no longer shown. */
function setEstimate(of: AbortSignal, share: number): void {
	if (share === (estimates.get(of) ?? 0)) return;
	if (share) estimates.set(of, share);
	else estimates.delete(of);
	watchers.forEach((tell) => tell());
}

function estimateShare(): number {
	return Math.max(0, ...estimates.values());
}

// What is true takes both processors for seconds: it is asked for when all estimates that are
// wanted are there.
const REST_MS = 40; // in which a view that has an estimate asks for what is in it
let estimating = 0;
let waiting: (() => void)[] = [];

function estimateIsOver(): void {
	if (--estimating) return;
	setTimeout(() => {
		if (estimating) return;
		const going = waiting;
		waiting = [];
		going.forEach((go) => go());
	}, REST_MS);
}

/** Asks by `askIt`; before that, of what takes its time, for an estimate. */
export async function inTwoSteps<T>(
	path: string,
	signal: AbortSignal,
	askIt: (path: string) => Promise<T>,
	onEstimate: (estimate: T) => void,
): Promise<T> {
	const quick = estimateOf(path);
	if (!quick) return askIt(path);
	estimating++;
	const turn = new Promise<void>((go) => waiting.push(go));
	try {
		const estimate = await askIt(quick);
		if (!signal.aborted) {
			setEstimate(signal, shareOf(quick));
			signal.addEventListener('abort', () => setEstimate(signal, 0));
			onEstimate(estimate);
		}
	} catch (error) {
		if (signal.aborted || (error as AskError).status === CANCELLED) throw error;
	} finally {
		estimateIsOver();
	}
	await turn;
	if (signal.aborted) throw new AskError('It is no longer wanted.', CANCELLED);
	return askIt(path).finally(() => setEstimate(signal, 0));
}

/**
 * Is anything that is shown an estimate, until what is true has come? Then the estimates are made
 * from one block in so many, or more; else 0.
 */
export function useEstimates(): number {
	const [share, setShare] = useState(estimateShare());
	useEffect(() => {
		const tell = () => setShare(estimateShare());
		watchers.add(tell);
		tell();
		return () => void watchers.delete(tell);
	}, []);
	return share;
}

export interface Answer<T> {
	/** The last one that there is: while another is on its way, of the question before. */
	data?: T;
	error?: AskError;
	/** Of a question that failed: asks it again. */
	again?: () => void;
	/**
	 * Since when `data` is not of what is asked now, in ms of performance.now(); undefined: it is.
	 */
	waitingSince?: number;
}

interface Flight {
	path: string;
	version: number;
	abort: AbortController;
	over: boolean;
}

/**
 * Asks whenever `path` changes, and takes the question before back. null: nothing is asked.
 * `version` asks again although the path is the same (a live recording has grown), when the
 * question before has been answered; with it answers are not kept.
 */
export function useAnswer<T>(path: string | null, version = 0): Answer<T> {
	const [answer, setAnswer] = useState<Answer<T>>({});
	const last = useRef<Flight>();

	const start = (question: string, of: number) => {
		const flight: Flight = {
			path: question,
			version: of,
			abort: new AbortController(),
			over: false,
		};
		const { signal } = flight.abort;
		const exact = (path: string) => ask<T>(path, { signal });
		last.current = flight;
		(of
			? exact(question)
			: inTwoSteps(question, signal, exact, (data) => setAnswer({ data }))
		).then(
			(data) => {
				flight.over = true;
				if (flight.abort.signal.aborted) return;
				if (!of) keep(question, data);
				setAnswer({ data });
				if (flight.version !== of) start(question, flight.version);
			},
			(error) => {
				flight.over = true;
				const again = () => {
					setAnswer((before) => ({ data: before.data, waitingSince: performance.now() }));
					start(question, flight.version);
				};
				if (!flight.abort.signal.aborted)
					setAnswer((before) => ({ data: before.data, error, again }));
			},
		);
	};

	useEffect(() => {
		const flight = last.current;
		if (path !== null && flight?.path === path && !flight.over) {
			flight.version = version;
			return;
		}
		flight?.abort.abort();
		const old = version || path === null ? undefined : (kept.get(path) as T | undefined);
		if (path === null) {
			setAnswer({});
		} else if (old !== undefined) {
			keep(path, old);
			setAnswer({ data: old });
		} else {
			if (flight?.path !== path)
				setAnswer((before) => ({ data: before.data, waitingSince: performance.now() }));
			start(path, version);
		}
	}, [path, version]);
	useEffect(() => () => last.current?.abort.abort(), []);
	return answer;
}
