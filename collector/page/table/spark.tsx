// A small graph in a row of a table. It is asked for only when the row has been in sight for a
// moment, two at a time, so that the rows themselves never wait for graphs.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, estimateOf } from '../base/ask';
import type { Timeline } from '../api/types';

const REST_MS = 150;
const LIVE_MS = 10_000;
const AT_ONCE = 2;
const KEPT_MAX = 400;

const kept = new Map<string, string>();
const waiting: (() => void)[] = [];
let running = 0;

function next(): void {
	while (running < AT_ONCE && waiting.length) {
		running++;
		waiting.shift()!();
	}
}

/** Steps of what was in use, in a box of 100 by 20. '': nothing was. */
export function outline(values: number[]): string {
	const most = Math.max(...values, 0);
	if (!most) return '';
	const step = 100 / values.length;
	const steps = values.map((v, i) => {
		const y = 19.5 - (18 * v) / most;
		return `V${y.toFixed(1)}H${((i + 1) * step).toFixed(1)}`;
	});
	return `M0 20${steps.join('')}V20z`;
}

/** `path` is a question for a timeline; of a `live` recording it is asked anew now and then. */
export function Spark(props: { path: string; blocks: boolean; live: boolean; label: string }) {
	const what = `${props.path} ${props.blocks}`;
	const key = props.live ? `${what} ${Math.floor(performance.now() / LIVE_MS)}` : what;
	const [shape, setShape] = useState<string | undefined>(kept.get(key));
	const shown = useRef(what);

	useEffect(() => {
		const known = kept.get(key);
		if (known !== undefined || shown.current !== what) setShape(known);
		shown.current = what;
		if (known !== undefined) return undefined;
		const abort = new AbortController();
		const begin = () => {
			// Of a large recording an estimate will do: nobody reads numbers off it.
			ask<Timeline>(estimateOf(props.path) ?? props.path, { signal: abort.signal })
				.then((t) => {
					const drawn = outline(props.blocks ? t.allocated_count : t.allocated_size);
					kept.set(key, drawn);
					if (kept.size > KEPT_MAX) kept.delete(kept.keys().next().value!);
					setShape(drawn);
				})
				.catch(() => {}) // a table without a graph is a table still
				.finally(() => {
					running--;
					next();
				});
		};
		const timer = setTimeout(() => {
			waiting.push(begin);
			next();
		}, REST_MS);
		return () => {
			clearTimeout(timer);
			const at = waiting.indexOf(begin);
			if (at >= 0) waiting.splice(at, 1);
			abort.abort();
		};
	}, [key]);
	return (
		<svg
			class="spark"
			viewBox="0 0 100 20"
			preserveAspectRatio="none"
			role="img"
			aria-label={props.label}
		>
			{shape && <path d={shape} />}
		</svg>
	);
}
