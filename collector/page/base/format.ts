// Numbers as the terminal shows them: three digits, binary units, so that a value on the page is
// the value in `heapcast report`.
import type { Stream } from '../api/types';

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

function threeDigits(value: number): string {
	return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

/** Bytes: "0 B", "4.00 KiB", "98.3 MiB"; a sign in front of what is negative. */
export function size(bytes: number): string {
	let value = Math.abs(bytes);
	let unit = 0;
	while (unit + 1 < SIZES.length && Number(threeDigits(value)) >= 1024) {
		value /= 1024;
		unit++;
	}
	return `${bytes < 0 ? '−' : ''}${unit ? threeDigits(value) : value.toFixed(0)} ${SIZES[unit]}`;
}

/** A whole number with commas. */
export function count(value: number): string {
	return `${value < 0 ? '−' : ''}${Math.abs(Math.round(value)).toLocaleString('en-US')}`;
}

/** A count that has little room: "28.7 k". */
export function shortCount(value: number): string {
	for (const [unit, letter] of [
		[1e9, 'G'],
		[1e6, 'M'],
		[1e3, 'k'],
	] as const)
		if (Math.abs(value) >= unit) return `${threeDigits(value / unit)} ${letter}`;
	return count(value);
}

/** A duration: "0 s", "26.0 us", "1.81 s", "5:03 min", "2:10:00 h", "3.2 days". */
export function duration(ns: number): string {
	if (ns <= 0) return '0 s';
	if (ns < 1e3) return `${ns.toFixed(0)} ns`;
	if (ns < 1e6) return `${threeDigits(ns / 1e3)} µs`;
	if (ns < 1e9) return `${threeDigits(ns / 1e6)} ms`;
	const seconds = ns / 1e9;
	if (seconds < 100) return `${threeDigits(seconds)} s`;
	const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
	if (seconds < 3600) return `${Math.floor(seconds / 60)}:${two(seconds % 60)} min`;
	if (seconds < 48 * 3600)
		return `${Math.floor(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)} h`;
	return `${threeDigits(seconds / 86400)} days`;
}

/** A part of a whole, in percent, without its sign. */
export function percent(part: number, whole: number): string {
	return whole > 0 ? threeDigits((100 * part) / whole) : '0';
}

/** When: the time of today, else with the date. `ms` since the epoch. */
export function when(ms: number): string {
	const date = new Date(ms);
	const two = (n: number) => String(n).padStart(2, '0');
	const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
	const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	return new Date().toDateString() === date.toDateString() ? time : `${day} ${time}`;
}

/** The last part of a path. */
export function baseName(path: string): string {
	return path.slice(path.lastIndexOf('/') + 1) || path;
}

const STATES = { live: '● live', ended: 'ended', interrupted: '◐ interrupted' };

/**
 * As `heapcast list` has it: what was imported, or given as a file of another tool, has no process.
 */
export function stateInWords(stream: Pick<Stream, 'state'> & Partial<Stream>): string {
	if (stream.is_snapshot) return 'snapshot';
	return stream.state === 'ended' && !stream.pid ? 'imported' : STATES[stream.state];
}
