// For questions whose answer is large or takes its time: asked again of a live recording not more
// often than it can be looked at.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Stream } from '../api/types';

const CALM_MS = 3000;

/**
 * A version for useAnswer() that changes every three seconds at most; 0: the recording does not
 * grow.
 */
export function useCalmVersion(stream: Stream): number {
	const now = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const [calm, setCalm] = useState(now);
	const last = useRef(performance.now());

	useEffect(() => {
		if (now === calm) return undefined;
		const timer = setTimeout(
			() => {
				last.current = performance.now();
				setCalm(now);
			},
			Math.max(0, last.current + CALM_MS - performance.now()),
		);
		return () => clearTimeout(timer);
	}, [now, calm]);
	return now ? calm || now : 0;
}
