// Which blocks a list has: those that the value of the address counts, as filters of the API, which
// knows no values where it lists blocks.
import { filtersOf, valueOf, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import type { Sites, Stream } from '../api/types';

/** undefined: not known yet (when the peak was). */
export function useMatched(
	address: Address,
	stream: Stream,
	version: number,
): [string, string][] | undefined {
	const value = valueOf(address);
	const peak = useAnswer<Sites>(
		value === 'peak' ? about(stream.id, 'peak', [['count', 0]]) : null,
		version,
	).data;
	const filters = filtersOf(address);
	// The address may have such a filter itself: the server knows two moments, and ands lifetimes.
	const moment = filters.some(([name]) => name === 'alive_at') ? 'alive_at_2' : 'alive_at';

	if (value === 'leaked') return [...filters, ['lifetime', 'only_leaked']];
	if (value === 'temporary') return [...filters, ['lifetime', 'only_freed']];
	if (value === 'in-use') return [...filters, [moment, address.params.get('at') ?? '100%']];
	if (value === 'peak') return peak && [...filters, [moment, `${peak.at_ns}ns`]];
	return filters;
}

/** What is listed, in words. */
export function matchedInWords(address: Address): string {
	return {
		leaked: 'not freed',
		temporary: 'freed',
		'in-use': address.params.has('at') ? 'in use then' : 'in use at the end',
		peak: 'in use at the peak',
		allocated: '',
	}[valueOf(address)];
}
