// The tree of an address, laid out by the worker.
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce, AskError, inTwoSteps, tokenHeaders, type Answer } from '../base/ask';
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
	worker ??= new Worker(document.querySelector<HTMLMetaElement>('meta[name=worker]')!.content, {
		type: 'module',
	});
	worker.postMessage({
		number: ++orders,
		url: url && new URL(url, document.baseURI).href,
		headers: tokenHeaders(),
		look,
		keep,
	} satisfies Order);
	return orders;
}

export function useLayout(path: string, look: Look, version: number): Answer<Laid> {
	const [answer, setAnswer] = useState<Answer<Laid>>({});
	const [tries, setTries] = useState(0);
	const asked = useRef('');
	const { blocks, focus, byName } = look;

	useEffect(() => {
		const abort = new AbortController();
		let leave: (() => void) | undefined;
		const askIt = (wanted: string) =>
			new Promise<Laid>((done, fail) => {
				const number = order(wanted, look, !version);
				const reply = (event: MessageEvent<Reply>) => {
					const { data } = event;
					if (data.number !== number) return;
					leave!();
					if (data.laid) done(data.laid);
					else fail(new AskError(data.error!, data.status!, data.parameter));
				};
				const over = announce(wanted, (why) => {
					order(null, look, true);
					leave!();
					fail(why);
				});
				worker!.addEventListener('message', reply);
				leave = () => {
					worker!.removeEventListener('message', reply);
					over();
				};
			});
		const take = (data: Laid) => !abort.signal.aborted && setAnswer({ data });
		// What grows is drawn anew without a sign of it.
		const question = JSON.stringify([path, blocks, focus, byName]);
		if (asked.current !== question || !version)
			setAnswer((before) => ({ data: before.data, waitingSince: performance.now() }));
		asked.current = question;
		(version ? askIt(path) : inTwoSteps(path, abort.signal, askIt, take)).then(
			take,
			(error: AskError) => {
				if (!abort.signal.aborted)
					setAnswer((before) => ({
						data: before.data,
						error,
						again: () => setTries((n) => n + 1),
					}));
			},
		);
		return () => {
			abort.abort();
			leave?.();
			order(null, look, true);
		};
	}, [path, blocks, focus, byName, version, tries]);
	return answer;
}
