// The tree of an address, laid out by the worker.
import { useEffect, useState } from 'preact/hooks';
import { announce, AskError, tokenHeaders, type Answer } from '../base/ask';
import type { Layout } from './layout';
import type { Order } from './worker';

interface Reply {
	number: number;
	layout?: Layout;
	error?: string;
	status?: number;
	parameter?: string;
}

let worker: Worker | undefined;
let orders = 0;

function order(url: string | null, blocks: boolean, keep: boolean): number {
	worker ??= new Worker(document.querySelector<HTMLMetaElement>('meta[name=worker]')!.content, { type: 'module' });
	worker.postMessage({ number: ++orders, url: url && new URL(url, document.baseURI).href, headers: tokenHeaders(), blocks, keep } satisfies Order);
	return orders;
}

export function useLayout(path: string, blocks: boolean, version: number): Answer<Layout> {
	const [answer, setAnswer] = useState<Answer<Layout>>({});
	const [tries, setTries] = useState(0);

	useEffect(() => {
		const number = order(path, blocks, !version);
		const reply = (event: MessageEvent<Reply>) => {
			const { data } = event;
			if (data.number !== number) return;
			over();
			if (data.layout) setAnswer({ data: data.layout });
			else fail(new AskError(data.error!, data.status!, data.parameter));
		};
		const fail = (error: AskError) => setAnswer((before) => ({ data: before.data, error, again: () => setTries((n) => n + 1) }));
		const over = announce(path, (why) => {
			order(null, blocks, true);
			fail(why);
		});
		setAnswer((before) => ({ data: before.data, waitingSince: performance.now() }));
		worker!.addEventListener('message', reply);
		return () => {
			worker!.removeEventListener('message', reply);
			over();
			order(null, blocks, true);
		};
	}, [path, blocks, version, tries]);
	return answer;
}
