// Which functions call sites and trees leave out, since they only pass allocations on
// (docs/hide-rules.md).
import { useMemo } from 'preact/hooks';
import { changed, filtersOf, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count } from '../base/format';
import type { Frame, Hidden } from '../api/types';
import type { ViewProps } from '../frame/views';
import { siteName } from './frames';

const NAMED = 2;
const ASKED = 100;

/** "Hidden: xmalloc, pool_get and 11 more". Instances of a template are one. */
export function hiddenInWords(hidden: Hidden): string {
	const names = [...new Set(hidden.hidden.map(siteName))];
	const more = names.length - NAMED + hidden.hidden_count - hidden.hidden.length;
	return (
		`Hidden: ${names.slice(0, NAMED).join(', ')}` +
		`${more > 0 ? ` and ${count(more)} more` : ''}`
	);
}

/** Is the frame one of a function that is hidden? */
export function useIsHidden(stream: string, address: Address): (frame: Frame) => boolean {
	const hidden = useAnswer<Hidden>(about(stream, 'hidden', filtersOf(address))).data;
	return useMemo(() => {
		const names = new Set(hidden?.hidden.map((h) => `${h.function}@${h.module ?? ''}`));
		return (frame: Frame) => names.has(`${frame.function}@${frame.library ?? ''}`);
	}, [hidden]);
}

export function HiddenNames(props: ViewProps) {
	const { address, stream } = props;
	const version = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const hidden = useAnswer<Hidden>(
		about(stream.id, 'hidden', [...filtersOf(address), ['count', ASKED]]),
		version,
	).data;
	if (!hidden?.hidden.length) return null;
	return (
		<span
			class="dim hidden-names"
			title={`They only pass allocations on, so their callers are shown:\n${hidden.hidden
				.slice(0, 30)
				.map((h) => h.function)
				.join('\n')}`}
		>
			{hiddenInWords(hidden)} <a href={changed(address, { set: { hide: 'none' } })}>Show</a>
		</span>
	);
}
