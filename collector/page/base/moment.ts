// The moment that is looked at, for what is true at one moment: `at` of the address, else the peak if that is shown, else the end.
import type { Report, Stream } from '../api/types';
import { nanoseconds } from '../api/types';
import { asMoment, momentOf } from '../strip/strip';
import { valueOf, type Address } from './address';
import { about, useAnswer } from './ask';
import { duration } from './format';

export interface Moment {
	ns: number;
	/** For the parameter `at` of the API; undefined: the end. */
	at?: string;
	/** "at the peak (1.20 s)" */
	text: string;
}

/** undefined: when the peak was is being asked. */
export function useMoment(stream: Stream, address: Address, version: number): Moment | undefined {
	const chosen = address.params.get('at');
	const atPeak = !chosen && valueOf(address) === 'peak';
	const { data, error } = useAnswer<Report>(atPeak ? about(stream.id, 'report') : null, version);

	if (chosen) {
		const ns = momentOf(chosen);
		if (ns !== undefined && Number.isFinite(ns)) return { ns, at: chosen, text: `at ${duration(ns)}` };
	}
	if (atPeak && data) return { ns: data.peak_ns, at: asMoment(data.peak_ns), text: `at the peak (${duration(data.peak_ns)})` };
	if (atPeak && !error) return undefined;
	return { ns: nanoseconds(stream.runtime), text: stream.state === 'live' ? 'now' : 'at the end' };
}
