// The text of a file, with what its lines allocated at the left.
import { useMemo } from 'preact/hooks';
import { go, inBlocks, type Address } from '../base/address';
import { count, percent, size } from '../base/format';
import { Rows } from '../base/rows';

export interface SourceText {
	file: string;
	lines: string[];
	sums?: { line: number; bytes: number; blocks: number }[];
}

const CHARACTER = 7.3; // px, of 12 px monospace
const WIDEST = 400;
const HEAVIEST = 5;

export function Text(props: { text: SourceText; address: Address; backtraceOf: (line: number) => number }) {
	const { text, address } = props;
	const blocks = inBlocks(address);
	const chosen = Number(address.params.get('line') ?? 0);
	const sums = useMemo(() => new Map((text.sums ?? []).map((s) => [s.line, s])), [text]);
	const amount = (line: number) => (blocks ? (sums.get(line)?.blocks ?? 0) : (sums.get(line)?.bytes ?? 0));
	const most = [...sums.keys()].reduce((top, line) => Math.max(top, amount(line)), 1);
	const total = [...sums.keys()].reduce((sum, line) => sum + amount(line), 0);
	const heaviest = useMemo(() => [...sums.keys()].sort((a, b) => amount(b) - amount(a)).slice(0, HEAVIEST), [sums, blocks]);
	const width = useMemo(() => Math.min(WIDEST, text.lines.reduce((longest, l) => Math.max(longest, l.replaceAll('\t', '    ').length), 20)) * CHARACTER + 30, [text]);
	const show = blocks ? count : size;
	const pick = (line: number) => go({ set: { line: String(line), picked: props.backtraceOf(line) ? String(props.backtraceOf(line)) : undefined, site: undefined } }, true);
	const first = chosen || heaviest[0] || 1;

	return (
		<>
			<div class="tools">
				<span class="dim">
					{sums.size ? `${show(total)} at ${count(sums.size)} of ${count(text.lines.length)} lines. Heaviest:` : `No line of it has anything ${blocks ? 'in blocks' : 'in bytes'} for what is shown.`}
				</span>
				{heaviest.map((line) => (
					<button type="button" class="button" title={show(amount(line))} onClick={() => pick(line)}>
						{line}
					</button>
				))}
			</div>
			<Rows
				class="source-text"
				rowHeight={20}
				label={`Text of ${text.file}`}
				columns={[
					{ title: blocks ? 'Blocks' : 'Bytes', numeric: true, width: 86 },
					{ title: '%', numeric: true, width: 50 },
					{ title: 'Line', numeric: true, width: 54 },
					{ title: 'Text', class: 'text', width },
				]}
				count={text.lines.length}
				selected={chosen - 1}
				show={first - 1}
				onSelect={(at) => pick(at + 1)}
				row={(at) => {
					const value = amount(at + 1);
					return {
						class: value ? 'heavy' : '',
						cells: [
							value ? (
								<>
									<span class="share" style={{ width: `${(100 * value) / most}%` }} />
									<span class="amount">{show(value)}</span>
								</>
							) : null,
							value ? percent(value, total) : null,
							<button type="button" class="plain" aria-label={`Line ${at + 1}${value ? `, ${show(value)}` : ''}`} onClick={() => pick(at + 1)}>
								{at + 1}
							</button>,
							<code>{text.lines[at]}</code>,
						],
						titles: [value ? `${count(sums.get(at + 1)!.bytes)} B in ${count(sums.get(at + 1)!.blocks)} blocks` : undefined],
					};
				}}
			/>
		</>
	);
}
