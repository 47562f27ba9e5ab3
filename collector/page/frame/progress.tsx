// How far a question is that takes long, at the foot of the page, where nothing has to move for it;
// and a button that takes it back.
import { useEffect, useState } from 'preact/hooks';
import type { Question } from '../api/types';
import { ask, asked, type Asked } from '../base/ask';

const LONG_MS = 1000;
const LOOK_MS = 500;

const NAMES: Record<string, string> = {
	allocation_groups: 'call sites',
	allocations: 'allocations',
	analyze: 'what stands out',
	diff: 'differences',
	flame: 'the flame graph',
	fragmentation: 'the address space',
	fragmentation_timeline: 'figures over time',
	histogram: 'sizes and lifetimes',
	leaks: 'leaks',
	maps: 'memory maps',
	peak: 'what was in use at the peak',
	regions: 'the address space',
	report: 'the sums',
	snapshot: 'what was in use then',
	source: 'the sums of lines',
	sql: 'a statement',
	timeline: 'the course over time',
	timeline_leaked: 'the course over time',
};

function routeOf(path: string): string {
	return path.replace(/\?.*/, '').split('/').slice(2).join('/');
}

function howFar(questions: Question[], of: Asked): string {
	const path = `/${decodeURI(of.path.replace(/\?.*/, ''))}`;
	const ours = questions
		.filter((q) => q.path === path && !q.cancelled)
		.sort((a, b) => b.seconds - a.seconds)[0];
	if (!ours) return '';
	if (ours.state === 'waiting') return ', waiting for its turn';
	return ours.blocks ? `, ${Math.floor((100 * ours.blocks_done) / ours.blocks)} % read` : '';
}

export function Progress() {
	const [long, setLong] = useState<Asked[]>([]);
	const [questions, setQuestions] = useState<Question[]>([]);

	useEffect(() => {
		let looking = false;
		const look = () => {
			const now = [...asked].filter((q) => performance.now() - q.since > LONG_MS);
			setLong((before) => (now.length || before.length ? now : before));
			if (!now.length || looking) return;
			looking = true;
			ask<Question[]>('questions')
				.then(setQuestions, () => {})
				.finally(() => (looking = false));
		};
		const timer = setInterval(look, LOOK_MS);
		return () => clearInterval(timer);
	}, []);
	const first = long[0];
	if (!first) return null;
	const route = routeOf(first.path);
	const others = long.length - 1;
	return (
		<span class="asking">
			<button
				type="button"
				class="plain"
				onClick={() => {
					long.forEach((q) => q.cancel());
					setLong([]);
				}}
			>
				Cancel
			</button>{' '}
			<span role="status">
				Asking for {NAMES[route] ?? route}
				{others > 0 ? ` and ${others} more` : ''}…
			</span>
			<span aria-hidden="true">
				{' '}
				{Math.floor((performance.now() - first.since) / 1000)} s{howFar(questions, first)}
			</span>
		</span>
	);
}
