// How values of a column are shown, told from its name, as docs/sql.md names columns.
import { count, duration, size, when } from '../base/format';
import type { Rows } from '../api/types';

export type Kind = 'ns' | 'wall' | 'seconds' | 'bytes' | 'address' | 'id' | 'number' | 'text';
export type Value = string | number | null;

const SUMS = /^(?:sum|max|min|avg|total|round|abs)\s*\(\s*(?:[a-z_]+\s*\.\s*)?([a-z_]+)[^a-z]*\)$/;
const BYTES = new RegExp(
	'(^|_)(bytes|size)(_error|_min|_max)?$|' +
		'^(rss|rss_peak|peak_rss|pss|anonymous|swap|address_space|mapped|resident|weight|' +
		'page_size|((private|shared)_)?(clean|dirty))$',
);

// Numbers that name something.
const IDS = new RegExp(
	'^(stack|death_stack|id|line|column|thread|tid|pid|chain|map|position|previous|next|marker|' +
		'module|inode)$',
);

/** Of a column by its name: `sum(bytes)` counts as `bytes`, `s.lifetime_ns` as `lifetime_ns`. */
function kindOfName(title: string): Kind {
	const text = title.trim().toLowerCase();
	const name = SUMS.exec(text)?.[1] ?? text.replace(/^[a-z_]+\./, '');
	if (/_wall_ns$/.test(name)) return 'wall';
	if (/_ns$|^ns$/.test(name)) return 'ns';
	if (/^seconds?$/.test(name)) return 'seconds';
	if (IDS.test(name)) return 'id';
	if (BYTES.test(name)) return 'bytes';
	if (/(^|_)address$|^(start|end|bias)$/.test(name)) return 'address';
	return 'number';
}

export interface Shown {
	name: string;
	kind: Kind;
}

const LOOKED_AT = 2000;

/**
 * A column in which all that is not NULL are numbers is of the kind that its name says; all others
 * are text.
 */
export function kindsOf(rows: Rows): Shown[] {
	return rows.columns.map((name) => {
		let numbers = 0;
		for (const row of rows.rows.slice(0, LOOKED_AT)) {
			const value = row[name];
			if (typeof value === 'string') return { name, kind: 'text' as const };
			if (typeof value === 'number') numbers++;
		}
		return { name, kind: numbers ? kindOfName(name) : ('text' as const) };
	});
}

/** A number with as many digits as matter. */
function plain(value: number): string {
	return Number.isInteger(value)
		? count(value)
		: Math.abs(value) >= 1000
			? count(value)
			: String(Number(value.toPrecision(4)));
}

export function textOf(value: Value | undefined, kind: Kind): string {
	if (value === null || value === undefined) return 'NULL';
	if (typeof value === 'string') return value;
	switch (kind) {
		case 'ns':
			return value < 0 ? `−${duration(-value)}` : duration(value);
		case 'wall':
			return when(value / 1e6);
		case 'bytes':
			return size(value);
		case 'address':
			return value >= 0 && Number.isSafeInteger(value)
				? `0x${value.toString(16)}`
				: String(value);
		case 'id':
			return String(value);
		default:
			return plain(value);
	}
}
