// The text of a file, with what came through its lines at the left: what they allocated themselves,
// and what those did that they call.
import { useMemo } from 'preact/hooks';
import { go, inBlocks, type Address } from '../base/address';
import { count, size } from '../base/format';
import { Grid } from '../base/grid';
import type { SourceText } from '../api/types';

const CHARACTER = 7.3; // px, of 12 px monospace
const WIDEST = 400;
const HEAVIEST = 5;

function inFull(bytes: number, blocks: number): string {
	return `${count(bytes)} B in ${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'}`;
}

export function Text(props: {
	text: SourceText;
	address: Address;
	backtraceOf: (line: number) => number;
}) {
	const { text, address } = props;
	const blocks = inBlocks(address);
	const chosen = Number(address.params.get('line') ?? 0);
	const sums = useMemo(() => new Map((text.sums ?? []).map((s) => [s.line, s])), [text]);
	const amount = (line: number) =>
		blocks ? (sums.get(line)?.blocks ?? 0) : (sums.get(line)?.bytes ?? 0);
	const most = [...sums.keys()].reduce((top, line) => Math.max(top, amount(line)), 1);
	const self = (line: number) =>
		blocks ? (sums.get(line)?.self_blocks ?? 0) : (sums.get(line)?.self_bytes ?? 0);
	const total = [...sums.keys()].reduce((sum, line) => sum + self(line), 0);
	const heaviest = useMemo(
		() => [...sums.keys()].sort((a, b) => amount(b) - amount(a)).slice(0, HEAVIEST),
		[sums, blocks],
	);
	const width = useMemo(
		() =>
			Math.min(
				WIDEST,
				text.lines.reduce(
					(longest, l) => Math.max(longest, l.replaceAll('\t', '    ').length),
					20,
				),
			) *
				CHARACTER +
			30,
		[text],
	);
	const show = blocks ? count : size;
	const pick = (line: number) =>
		go(
			{
				set: {
					line: String(line),
					picked: props.backtraceOf(line) ? String(props.backtraceOf(line)) : undefined,
					site: undefined,
				},
			},
			true,
		);
	const first = chosen || heaviest[0] || 1;

	return (
		<>
			<div class="tools">
				<span class="dim">
					{sums.size
						? `${show(total)} ${total === 1 && blocks ? 'was' : 'were'} ` +
							`allocated here; something came through ${count(sums.size)} of ` +
							`${count(text.lines.length)} lines. Most at`
						: 'Nothing of what is shown came through this file.'}
				</span>
				{heaviest.map((line) => (
					<button
						type="button"
						class="button"
						title={show(amount(line))}
						onClick={() => pick(line)}
					>
						{line}
					</button>
				))}
			</div>
			<Grid
				class="source-text"
				rowHeight={20}
				label={`Text of ${text.file}`}
				columns={[
					{
						key: 'amount',
						title: blocks ? 'Blocks' : 'Bytes',
						right: true,
						width: '86px',
						hint: 'Came through the line: allocated there, or by what it calls',
						class: 'share-of',
						cell: (line: number) =>
							amount(line) ? (
								<span title={inFull(sums.get(line)!.bytes, sums.get(line)!.blocks)}>
									<span
										class="share"
										style={{ width: `${(100 * amount(line)) / most}%` }}
									/>
									<span class="amount">{show(amount(line))}</span>
								</span>
							) : null,
					},
					{
						key: 'self',
						title: 'Itself',
						right: true,
						width: '88px',
						hint: 'Allocated at the line itself',
						cell: (line: number) =>
							self(line) ? (
								<span
									title={inFull(
										sums.get(line)!.self_bytes,
										sums.get(line)!.self_blocks,
									)}
								>
									{show(self(line))}
								</span>
							) : null,
					},
					{
						key: 'line',
						title: 'Line',
						right: true,
						width: '54px',
						class: 'line-number',
						cell: (line: number) => line,
					},
					{
						key: 'text',
						title: 'Text',
						class: 'text',
						width: `minmax(${width}px, 1fr)`,
						cell: (line: number) => <code>{text.lines[line - 1]}</code>,
					},
				]}
				total={text.lines.length}
				row={(at) => at + 1}
				keyOf={String}
				picked={String(chosen)}
				rowClass={(line) => (amount(line) ? 'heavy' : '')}
				show={first - 1}
				onPick={pick}
			/>
		</>
	);
}
