// Frames and places in the cells of tables and in panels.
import { changed, type Address } from '../base/address';
import { baseName } from '../base/format';
import type { Frame } from '../api/types';

/** As the debug information has it. */
export function fullNameOf(frame: Frame | undefined): string {
	return (
		frame?.function ?? frame?.place ?? `[${baseName(frame?.library ?? 'unknown')}]`
	);
}

/** Without template arguments and parameters. */
export function nameOf(frame: Frame | undefined): string {
	return frame?.function_short ?? fullNameOf(frame);
}

/**
 * The name of a call site in a narrow column. Names of places that nobody can name differ at their
 * end, so the module is cut there: "[libsql…+0xa74f0]".
 */
export function SiteName(props: { site: Parameters<typeof siteName>[0] }) {
	const name = siteName(props.site);
	const at = /^\[.*(?=\+0x[0-9a-f]+\]$)/.exec(name)?.[0].length ?? name.length;
	return (
		<span class="site-name" title={props.site.function ?? undefined}>
			<span>{name.slice(0, at)}</span>
			{name.slice(at)}
		</span>
	);
}

/** What a row of sums is about: a call site or a function. */
export function siteName(row: {
	function?: string | null;
	function_short?: string | null;
	module?: string | null;
}): string {
	return row.function_short ?? row.function ?? `[${baseName(row.module ?? 'unknown')}]`;
}

export function placeOfFrame(frame: Frame | undefined): string {
	return frame?.source ? `${baseName(frame.source)}${frame.line ? `:${frame.line}` : ''}` : '';
}

/** A line of a file, which leads to it in the source. */
export function Place(props: {
	address: Address;
	file: string | null | undefined;
	line: number | null | undefined;
}) {
	const { file, line } = props;
	if (!file) return null;
	return (
		<a
			class="place"
			title={`${file}${line ? `:${line}` : ''}: show it in the source`}
			href={changed(props.address, {
				view: 'source',
				set: { file, line: line ? String(line) : undefined, q: undefined },
			})}
		>
			{baseName(file)}
			{line ? `:${line}` : ''}
		</a>
	);
}

/**
 * The frames of a backtrace, outermost first, up to its call site: the innermost function that is
 * not hidden.
 */
export function upToSite(frames: Frame[], isHidden: (frame: Frame) => boolean): Frame[] {
	const hidden = [...frames].reverse().findIndex((f) => !isHidden(f));
	return hidden > 0 ? frames.slice(0, -hidden) : frames;
}

/** The innermost function and its callers, as far as there is room. */
export function Trail(props: { frames: Frame[] }) {
	// What a function inlines into itself is there twice.
	const inward = props.frames
		.filter(
			(f, i) => nameOf(f) !== nameOf(props.frames[i + 1]) || i + 1 === props.frames.length,
		)
		.slice(-6)
		.reverse();
	if (!inward.length) return <span class="dim">no backtrace</span>;
	return (
		<span
			class="trail"
			title={inward.map((f) => `${fullNameOf(f)} ${placeOfFrame(f)}`).join('\n')}
		>
			<b>{nameOf(inward[0])}</b>
			<span class="dim">
				{inward
					.slice(1)
					.map((f) => ` ← ${nameOf(f)}`)
					.join('')}
			</span>
		</span>
	);
}

/** A whole stack, the innermost frame first. */
export function StackList(props: {
	frames: Frame[];
	address: Address;
	isHidden?: (frame: Frame) => boolean;
}) {
	return (
		<ol class="stack">
			{[...props.frames].reverse().map((f) => (
				<li class={f.is_inline ? 'inlined' : ''}>
					<span class={props.isHidden?.(f) ? 'dim' : ''} title={fullNameOf(f)}>
						{nameOf(f)}
					</span>{' '}
					{f.source ? (
						<Place address={props.address} file={f.source} line={f.line} />
					) : (
						<span class="dim">{baseName(f.library ?? '')}</span>
					)}
				</li>
			))}
		</ol>
	);
}
