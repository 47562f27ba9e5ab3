// Asks for a tree, reads it and lays it out beside the page's own thread, which stays free. One
// question at a time: a new one ends the old one.
import type { Flame } from '../api/types';
import { arraysOfLaid, lay, type Look } from './lay';

export interface Order {
	number: number;
	/** Absolute; null: only what went before ends. */
	url: string | null;
	headers: Record<string, string>;
	look: Look;
	/** The answer of the same address may be taken again. */
	keep: boolean;
}

let abort = new AbortController();
let kept: { url: string; flame: Flame } | undefined;

async function answer(order: Order, signal: AbortSignal): Promise<void> {
	let flame = order.keep && kept?.url === order.url ? kept.flame : undefined;
	if (!flame) {
		const response = await fetch(order.url!, { headers: order.headers, signal });
		const said = await response.json().catch(() => ({}));
		if (!response.ok) {
			postMessage({
				number: order.number,
				error: said.error ?? `The collector answers ${response.status}.`,
				status: response.status,
				parameter: said.parameter,
			});
			return;
		}
		flame = said as Flame;
		kept = { url: order.url!, flame };
	}
	if (signal.aborted) return;
	const laid = lay(flame, order.look);
	postMessage({ number: order.number, laid }, { transfer: arraysOfLaid(laid) });
}

addEventListener('message', (event: MessageEvent<Order>) => {
	abort.abort();
	abort = new AbortController();
	const { signal } = abort;
	if (event.data.url === null) return;
	answer(event.data, signal).catch(() => {
		if (!signal.aborted)
			postMessage({
				number: event.data.number,
				error: 'The collector does not answer: is it still running?',
				status: 0,
			});
	});
});
