// The tree of an address, laid out by the worker.
import { useEffect, useState } from 'preact/hooks';
import { announce, AskError, tokenHeaders, type Answer } from '../base/ask';
import type { Laid, Look } from './lay';
import type { Order } from './worker';

interface Reply {
	number: number;
	laid?: Laid;
	error?: string;
	status?: number;
	parameter?: string;
}

let worker: Worker | undefined;
let orders = 0;

function order(url: string | null, look: Look, keep: boolean): number {
	worker ??= new Worker(document.querySelector<HTMLMetaElement>('meta[name=worker]')!.content, { type: 'module' });
	worker.postMessage({ number: ++orders, url: url && new URL(url, document.baseURI).href, headers: tokenHeaders(), look, keep } satisfies Order);
	return orders;
}

export function useLayout(path: string, look: Look, version: number): Answer<Laid> {
	const [answer, setAnswer] = useState<Answer<Laid>>({});
	const [tries, setTries] = useState(0);
	const { blocks, focus, byName } = look;

	useEffect(() => {
		const number = order(path, look, !version);
		const reply = (event: MessageEvent<Reply>) => {
			const { data } = event;
			if (data.number !== number) return;
			over();
			if (data.laid) setAnswer({ data: data.laid });
			else fail(new AskError(data.error!, data.status!, data.parameter));
		};
		const fail = (error: AskError) => setAnswer((before) => ({ data: before.data, error, again: () => setTries((n) => n + 1) }));
		const over = announce(path, (why) => {
			order(null, look, true);
			fail(why);
		});
		setAnswer((before) => ({ data: before.data, waitingSince: performance.now() }));
		worker!.addEventListener('message', reply);
		return () => {
			worker!.removeEventListener('message', reply);
			over();
			order(null, look, true);
		};
	}, [path, blocks, focus, byName, version, tries]);
	return answer;
}
