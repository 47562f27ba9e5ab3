// Maps in words.
import { baseName, size } from '../base/format';
import type { Call, Mapping, MapRegion } from '../api/memory';

export function hex(address: number): string {
	return address.toString(16).padStart(12, '0');
}

export function rangeOf(part: { address: number; size: number }): string {
	return `${hex(part.address)}–${hex(part.address + part.size)}`;
}

/** As /proc/PID/maps has it; '' if no reading showed it. */
export function protectionOf(map: Mapping | MapRegion): string {
	if (map.is_readable === undefined) return '';
	return (
		(map.is_readable ? 'r' : '-') +
		(map.is_writable ? 'w' : '-') +
		(map.is_executable ? 'x' : '-') +
		(map.is_shared ? 's' : 'p')
	);
}

export function nameOf(map: Mapping): string {
	return (
		map.name ||
		(map.source
			? 'of no file'
			: map.name === undefined
				? 'not seen by a reading'
				: 'of no file')
	);
}

/** The innermost frame that has a name. */
export function siteOf(call: Pick<Call, 'backtrace'>): string {
	const frames = call.backtrace ?? [];
	const frame = [...frames].reverse().find((f) => f.function) ?? frames.at(-1);
	return frame
		? (frame.function ?? `[${baseName(frame.library ?? 'unknown')}]`)
		: 'a call without a backtrace';
}

export function sizeOr(value: number | undefined): string {
	return value === undefined ? '' : size(value);
}
