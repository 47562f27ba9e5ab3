// A flame graph with its search and the table of its functions: of the view (view.tsx), and of a
// file that needs no collector (alone.tsx).
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { go, inBlocks, type Address } from '../base/address';
import { count, percent, size } from '../base/format';
import { Segments } from '../base/ui';
import { Flame } from './flame';
import { FunctionTable } from './functions';
import type { Laid } from './lay';
import { find, focusOf, functionOf, type Layout, type Match, shortNameOf, siteOf } from './layout';

const TREES = [
	['down', 'From main'],
	['up', 'From the allocator'],
] as const;

/** The frame that is selected in the address; -1: none that is here. */
function pickedFrame(layout: Layout, site: string): number {
	const name = layout.strings.indexOf(site.split('@')[0]!);
	if (!site || name < 0) return -1;
	const exact = layout.functions.findIndex((f, i) => f === name && siteOf(layout, i) === site);
	return exact >= 0 ? exact : layout.functions.indexOf(name);
}

/** Whether somebody is writing there. */
function inText(target: EventTarget | null): boolean {
	return (
		target instanceof HTMLElement &&
		target.closest('input, textarea, select, [contenteditable]') !== null
	);
}

/**
 * Ctrl-F and / lead to the search, as what a canvas shows is not found by the browser's; Escape
 * leaves the function that is looked at.
 */
function useKeys(search: { current: HTMLInputElement | null }, focus: string): void {
	useEffect(() => {
		const key = (event: KeyboardEvent) => {
			if (event.defaultPrevented) return;
			if (
				((event.ctrlKey || event.metaKey) && event.key === 'f') ||
				(event.key === '/' && !inText(event.target))
			) {
				search.current?.focus();
				search.current?.select();
			} else if (
				event.key === 'Escape' &&
				focus &&
				!inText(event.target) &&
				!document.querySelector('.panel')
			) {
				go({ set: { focus: undefined } });
			} else {
				return;
			}
			event.preventDefault();
		};
		addEventListener('keydown', key);
		return () => removeEventListener('keydown', key);
	}, [focus]);
}

/** Rows that a part of the sandwich wants, of some thirty that both have room for. */
function share(layout: Layout): number {
	return Math.max(4, Math.min(20, layout.levels.length));
}

/**
 * What matches, looked for in a task of its own, so that a letter is there as soon as it is typed.
 */
function useMatch(layout: Layout, text: string): Match | undefined {
	const [found, setFound] = useState<{ layout: Layout; match: Match | undefined }>();
	useEffect(() => {
		const timer = setTimeout(() => setFound({ layout, match: find(layout, text) }), 0);
		return () => clearTimeout(timer);
	}, [layout, text]);
	return text && found?.layout === layout ? found.match : undefined;
}

function Focused(props: { laid: Laid; focus: string; show: (n: number) => string }) {
	const { laid, focus, show } = props;
	const root = laid.around?.callees;
	const name = root ? shortNameOf(root, root.frame[0]!) : focus.slice(0, focus.lastIndexOf('@'));
	return (
		<p class="focused">
			<strong title={root && functionOf(root, root.frame[0]!)}>{name}</strong>{' '}
			<span class="dim">
				{root
					? `${show(root.amount[0]!)}, ` +
						`${percent(root.amount[0]!, laid.layout.amount[0]!)} % of all; ` +
						`${root.self[0] === root.amount[0] ? 'all' : show(root.self[0]!)} of ` +
						'it by itself'
					: 'has nothing of what is shown now: all of it is below'}
			</span>{' '}
			<button type="button" class="button" onClick={() => go({ set: { focus: undefined } })}>
				Show all (Esc)
			</button>
		</p>
	);
}

/** ", 2 of 5 frames": the one that was gone to, and how many match. */
function foundInWords(found: number, at: number): string {
	if (!found) return '';
	const which = at < 0 ? '' : `${count(at + 1)} of `;
	return `, ${which}${count(found)} ${found === 1 ? 'frame' : 'frames'}`;
}

export function Graph(props: {
	laid: Laid;
	address: Address;
	canTurn: boolean;
	sources?: boolean;
	note?: ComponentChildren;
	onOnly?: (frame: number) => void;
	children?: ComponentChildren;
}) {
	const { laid, address } = props;
	const { layout, around } = laid;
	const blocks = inBlocks(address);
	const text = address.params.get('find') ?? '';
	const site = address.params.get('site') ?? '';
	const focus = address.params.get('focus') ?? '';
	const match = useMatch(layout, text);
	const picked = useMemo(() => pickedFrame(layout, site), [layout, site]);
	const [found, setFound] = useState<{ of: unknown; at: number; node: number; times: number }>({
		of: match,
		at: -1,
		node: 0,
		times: 0,
	});
	const foundAt = found.of === match ? found.at : -1;
	const search = useRef<HTMLInputElement>(null);
	const tree = address.params.get('tree') === 'up' ? 'up' : 'down';
	const show = blocks ? count : size;
	const whole = layout.amount[0]!;

	useKeys(search, focus);
	const step = (by: number) => {
		if (!match?.nodes.length) return;
		const at =
			(foundAt + by + match.nodes.length + (foundAt < 0 && by < 0 ? 1 : 0)) %
			match.nodes.length;
		setFound({ of: match, at, node: match.nodes[at]!, times: found.times + 1 });
	};
	const parts = {
		blocks,
		match,
		picked,
		whole,
		onFocus: (wanted: string) => go({ set: { focus: wanted } }),
		onOnly: props.onOnly,
	};
	const onPick = (of: Layout) => (node: number) =>
		go({ set: { site: of.frame[node]! < 0 ? undefined : siteOf(of, of.frame[node]!) } }, true);

	return (
		<div class={around ? 'flames around' : 'flames'}>
			<div class="tools">
				{props.canTurn && (
					<Segments
						label="Direction"
						options={TREES}
						chosen={tree}
						onChoose={(t) =>
							go({ set: { tree: t === 'down' ? undefined : t, focus: undefined } })
						}
					/>
				)}
				{props.children}
				<input
					ref={search}
					type="search"
					placeholder="Function, file or module"
					aria-label="Search the flame graph"
					title={
						'A part of a name, or a regular expression. Enter goes to the next ' +
						'that matches, Shift with Enter to the one before'
					}
					value={text}
					onInput={(event) => go({ set: { find: event.currentTarget.value } }, true)}
					onKeyDown={(event) => {
						if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
						if (event.key === 'Escape') event.currentTarget.blur();
					}}
				/>
				<span class="dim" role="status">
					{match
						? `${percent(match.sum, whole)} % of ${show(whole)} match` +
							foundInWords(match.nodes.length, foundAt)
						: `${show(whole)} in ${count(layout.count - 1)} frames`}
					{layout.change ? ': red has grown, blue has shrunk' : ''}
					{layout.cut ? `, ${count(layout.cut)} small ones are left out` : ''}
				</span>
				{props.note}
				{focus && <Focused laid={laid} focus={focus} show={show} />}
			</div>
			{around ? (
				<div
					class="sandwich"
					style={{
						gridTemplateRows:
							`minmax(0, ${share(around.callers)}fr) minmax(0, ` +
							`${share(around.callees)}fr)`,
					}}
				>
					<Flame
						{...parts}
						key="callers"
						part
						upwards
						layout={around.callers}
						label="Callers"
						onPick={onPick(around.callers)}
					/>
					<Flame
						{...parts}
						key="callees"
						part
						layout={around.callees}
						label="Callees"
						onPick={onPick(around.callees)}
					/>
				</div>
			) : (
				<Flame
					{...parts}
					key="all"
					layout={layout}
					label="Flame graph"
					wanted={found}
					onPick={onPick(layout)}
				/>
			)}
			<FunctionTable
				layout={layout}
				address={address}
				sources={props.sources ?? false}
				blocks={blocks}
				picked={site}
				match={match}
				focus={focus}
				onFocus={(frame) => parts.onFocus(focusOf(layout, frame))}
			/>
		</div>
	);
}
