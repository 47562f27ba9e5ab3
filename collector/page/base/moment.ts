// The moment that is looked at, for what is true at one moment: `at` of the address, else the peak
// if that is shown, else the end.
import type { Report, Stream } from '../api/types';
import { nanoseconds } from '../api/types';
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

const UNITS: Record<string, number> = { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, ns: 1 };

/**
 * A time as the API takes it (docs/rest-api.md), in ns since the start of a recording that is
 * `whole` ns long; undefined: not understood.
 */
export function readMoment(text: string, whole: number): number | undefined {
	const part = /^([\d.]+)%$/.exec(text);
	if (part) return (Number(part[1]) / 100) * whole;
	if (/^[\d.]+$/.test(text)) return Number(text) < 1e9 ? Number(text) * 1e9 : undefined;
	if (!/^(?:[\d.]+(?:h|ms|m|s|us|ns))+$/.test(text)) return undefined;
	let sum = 0;
	for (const [, number, unit] of text.matchAll(/([\d.]+)(h|ms|m|s|us|ns)/g))
		sum += Number(number) * UNITS[unit!]!;
	return sum;
}

/** So that the server reads it as seconds since the start, with all that matters. */
export function asMoment(ns: number): string {
	return `${(Math.max(0, Math.round(ns)) / 1e9).toFixed(9).replace(/\.?0+$/, '')}s`;
}

/** undefined: when the peak was is being asked. */
export function useMoment(stream: Stream, address: Address, version: number): Moment | undefined {
	const chosen = address.params.get('at');
	const atPeak = !chosen && valueOf(address) === 'peak';
	const { data, error } = useAnswer<Report>(atPeak ? about(stream.id, 'report') : null, version);

	if (chosen) {
		const ns = readMoment(chosen, nanoseconds(stream.runtime));
		return {
			ns: ns ?? nanoseconds(stream.runtime),
			at: chosen,
			text: ns === undefined ? `at ${chosen}` : `at ${duration(ns)}`,
		};
	}
	if (atPeak && data)
		return {
			ns: data.peak_ns,
			at: asMoment(data.peak_ns),
			text: `at the peak (${duration(data.peak_ns)})`,
		};
	if (atPeak && !error) return undefined;
	return {
		ns: nanoseconds(stream.runtime),
		text: stream.state === 'live' ? 'now' : 'at the end',
	};
}
