// The text of a file, with what came through its lines at the left: what they allocated themselves, and what those did that they call.
import { useMemo } from 'preact/hooks';
import { go, inBlocks, type Address } from '../base/address';
import { count, size } from '../base/format';
import { Rows } from '../base/rows';
import type { SourceText } from '../api/types';

const CHARACTER = 7.3; // px, of 12 px monospace
const WIDEST = 400;
const HEAVIEST = 5;

function inFull(bytes: number, blocks: number): string {
	return `${count(bytes)} B in ${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'}`;
}

export function Text(props: { text: SourceText; address: Address; backtraceOf: (line: number) => number }) {
	const { text, address } = props;
	const blocks = inBlocks(address);
	const chosen = Number(address.params.get('line') ?? 0);
	const sums = useMemo(() => new Map((text.sums ?? []).map((s) => [s.line, s])), [text]);
	const amount = (line: number) => (blocks ? (sums.get(line)?.blocks ?? 0) : (sums.get(line)?.bytes ?? 0));
	const most = [...sums.keys()].reduce((top, line) => Math.max(top, amount(line)), 1);
	const self = (line: number) => (blocks ? (sums.get(line)?.self_blocks ?? 0) : (sums.get(line)?.self_bytes ?? 0));
	const total = [...sums.keys()].reduce((sum, line) => sum + self(line), 0);
	const heaviest = useMemo(() => [...sums.keys()].sort((a, b) => amount(b) - amount(a)).slice(0, HEAVIEST), [sums, blocks]);
	const width = useMemo(() => Math.min(WIDEST, text.lines.reduce((longest, l) => Math.max(longest, l.replaceAll('\t', '    ').length), 20)) * CHARACTER + 30, [text]);
	const show = blocks ? count : size;
	const pick = (line: number) => go({ set: { line: String(line), picked: props.backtraceOf(line) ? String(props.backtraceOf(line)) : undefined, site: undefined } }, true);
	const first = chosen || heaviest[0] || 1;

	return (
		<>
			<div class="tools">
				<span class="dim">
					{sums.size
						? `${show(total)} ${total === 1 && blocks ? 'was' : 'were'} allocated here; something came through ${count(sums.size)} of ${count(text.lines.length)} lines. Most at`
						: 'Nothing of what is shown came through this file.'}
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
					{ title: blocks ? 'Blocks' : 'Bytes', numeric: true, width: 86, about: 'Came through the line: allocated there, or by what it calls' },
					{ title: 'Itself', numeric: true, width: 88, about: 'Allocated at the line itself' },
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
							self(at + 1) ? show(self(at + 1)) : null,
							<button type="button" class="plain" aria-label={`Line ${at + 1}${value ? `, ${show(value)}` : ''}`} onClick={() => pick(at + 1)}>
								{at + 1}
							</button>,
							<code>{text.lines[at]}</code>,
						],
						titles: value ? [inFull(sums.get(at + 1)!.bytes, sums.get(at + 1)!.blocks), inFull(sums.get(at + 1)!.self_bytes, sums.get(at + 1)!.self_blocks)] : [],
					};
				}}
			/>
		</>
	);
}
