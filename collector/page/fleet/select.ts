// Chooses streams by NAME=PATTERN, as `--select` of the commands does. collector/catalogue/select.h
// says how.
import { stateInWords } from '../base/format';
import type { Stream } from '../api/types';

/** What streams are chosen by: those here, and those of other collectors. */
type Searched = Pick<Stream, 'id' | 'name' | 'executable' | 'cmdline' | 'state'> & Partial<Stream>;

/** The value of a tag; empty if there is none. */
function tag(stream: Searched, key: string): string {
	const found = (stream.tags ?? '').split(',').find((t) => t.startsWith(`${key}=`));
	return found?.slice(key.length + 1) ?? '';
}

function service(stream: Searched): string {
	const units = (stream.cgroup ?? '').split('/').filter((p) => /.\.service$/.test(p));
	return units.at(-1)?.replace(/\.service$/, '') ?? '';
}

const FIELDS: Record<string, (s: Searched) => string> = {
	id: (s) => s.id,
	name: (s) => s.name,
	executable: (s) => s.executable,
	host: (s) => s.host ?? '',
	architecture: (s) => s.architecture ?? '',
	board: (s) => s.board ?? '',
	cgroup: (s) => s.cgroup ?? '',
	service,
	build: (s) => s.build_id ?? '',
	pid: (s) => String(s.pid ?? 0),
	state: (s) => (s.is_snapshot ? 'snapshot' : s.state),
	version: (s) => tag(s, 'version'),
};

function fits(pattern: string, value: string, beginning: boolean): boolean {
	if (!value) return !pattern; // there is none
	if (beginning && pattern && !/[*?]/.test(pattern))
		return value.toLowerCase().startsWith(pattern.toLowerCase());
	const source = pattern
		.replace(/[.+^${}()|[\]\\]/g, '\\$&')
		.replaceAll('*', '.*')
		.replaceAll('?', '.');
	return new RegExp(`^${source}$`, 's').test(value);
}

/** What a word says of a stream; undefined: it is no term, but a word to be found. */
function holds(word: string, stream: Searched): boolean | undefined {
	const [, not, name = '', differs, patterns] =
		/^(!?)([a-z]+|tag:[\w.-]+)(?:(!?)=(.*))?$/s.exec(word) ?? [];
	const key = name.startsWith('tag:') ? name.slice(4) : undefined;
	const of = key === undefined ? FIELDS[name] : (s: Searched) => tag(s, key);
	if (!of || (patterns === undefined && key === undefined)) return undefined;
	const value = of(stream);
	const beginning = name === 'id' || name === 'build';
	const yes =
		patterns === undefined
			? value !== ''
			: patterns.split(',').some((p) => fits(p, value, beginning));
	return yes !== ((not !== '') !== (differs === '!'));
}

/** Words, with what stands in double quotes kept together. */
function words(text: string): string[] {
	return (text.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? []).map((w) => w.replaceAll('"', ''));
}

/** The text, if it has terms only: then others understand it as a selector, too. */
export function selector(text: string): string | undefined {
	const all = words(text);
	const probe = { id: '', name: '', executable: '', cmdline: '', state: 'live' } as Searched;
	return all.length && all.every((w) => holds(w, probe) !== undefined) ? text.trim() : undefined;
}

/** Whether all words fit the stream: terms such as `version!=1.4`, and words found anywhere. */
export function matches(stream: Searched, text: string): boolean {
	const known = (
		`${stream.name} ${stream.cmdline} ${stream.host ?? ''} ${stream.pid ?? ''} ` +
		`${stateInWords(stream)} ${stream.id} ${stream.tags ?? ''} ${stream.board ?? ''}`
	).toLowerCase();
	return words(text).every(
		(word) => holds(word, stream) ?? known.includes(word.toLowerCase()),
	);
}
