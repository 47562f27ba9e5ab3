// Small parts that views share.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CANCELLED, type Answer } from './ask';

/** One of a few, as buttons side by side. */
export function Segments<T extends string>(props: {
	label: string;
	options: readonly (readonly [T, string])[];
	chosen: T;
	onChoose: (value: T) => void;
}) {
	return (
		<div class="segments" role="radiogroup" aria-label={props.label}>
			{props.options.map(([value, text]) => (
				<button
					type="button"
					role="radio"
					aria-checked={value === props.chosen}
					onClick={() => props.onChoose(value)}
				>
					{text}
				</button>
			))}
		</div>
	);
}

/** A sentence in the middle of where something would be. */
export function Notice(props: { title: string; children?: ComponentChildren }) {
	return (
		<div class="notice" role="status">
			<strong>{props.title}</strong>
			{props.children && <p>{props.children}</p>}
		</div>
	);
}

/**
 * What an answer is about to be: the failure, the wait, or the view made of it. The old picture
 * stays, paler, while a new one comes.
 */
export function Answered<T>(props: {
	answer: Answer<T>;
	waiting?: string;
	children: (data: T) => ComponentChildren;
}) {
	const { data, error, again, waitingSince } = props.answer;
	if (error)
		return (
			<Notice title={error.status === CANCELLED ? 'Cancelled.' : "This can't be answered."}>
				{error.message}
				{error.parameter ? ` (parameter ${error.parameter})` : ''}{' '}
				{again &&
					(error.status === CANCELLED || error.status === 0 || error.status >= 500) && (
						<button type="button" class="button" onClick={again}>
							Ask again
						</button>
					)}
			</Notice>
		);
	if (data === undefined)
		return <div class="wait" role="status" aria-label={props.waiting ?? 'Loading'} />;
	return (
		<div class={waitingSince === undefined ? 'answered' : 'answered stale'}>
			{props.children(data)}
		</div>
	);
}

const narrowness = matchMedia('(max-width: 760px)');

/**
 * Whether the window is as narrow as a telephone: then the style sheet has one column, which
 * scrolls.
 */
export function useNarrow(): boolean {
	const [narrow, setNarrow] = useState(narrowness.matches);
	useEffect(() => {
		const changes = () => setNarrow(narrowness.matches);
		narrowness.addEventListener('change', changes);
		return () => narrowness.removeEventListener('change', changes);
	}, []);
	return narrow;
}

/** The size of an element in CSS pixels, as it is and as it changes. */
export function useSize<E extends HTMLElement>(): [
	preact.RefObject<E>,
	{ width: number; height: number },
] {
	const ref = useRef<E>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	useLayoutEffect(() => {
		const element = ref.current;
		if (!element) return undefined;
		const look = () =>
			setSize((before) =>
				before.width === element.clientWidth && before.height === element.clientHeight
					? before
					: { width: element.clientWidth, height: element.clientHeight },
			);
		look();
		const observer = new ResizeObserver(look);
		observer.observe(element);
		return () => observer.disconnect();
	}, []);
	return [ref, size];
}

/** A number that changes each `ms` while `on`: to ask again. */
export function useTicks(on: boolean, ms: number): number {
	const [ticks, setTicks] = useState(0);
	useEffect(() => {
		if (!on) return undefined;
		const timer = setInterval(() => setTicks((n) => n + 1), ms);
		return () => clearInterval(timer);
	}, [on, ms]);
	return ticks;
}
