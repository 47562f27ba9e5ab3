// Sources: the files whose lines allocated, and the text of one of them.
import { useMemo, useRef, useState } from 'preact/hooks';
import { changed, filtersOf, go, inBlocks, valueOf, type Address } from '../base/address';
import { about, useAnswer, type AskError } from '../base/ask';
import { useCalmVersion } from '../base/calm';
import { baseName, count, percent, size } from '../base/format';
import { Grid } from '../base/grid';
import { Answered, Notice } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { filesOf, useLineSums, type FileSum, type LineSum } from './sums';
import type { SourceText } from '../api/types';
import { Text } from './text';
import './source.css';

/** Where the clipboard may not be written (no HTTPS), the path is selected instead. */
function Path(props: { path: string }) {
	const code = useRef<HTMLElement>(null);
	const [said, setSaid] = useState('');
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(props.path);
			setSaid('Copied');
		} catch {
			if (code.current) getSelection()?.selectAllChildren(code.current);
			setSaid('Selected: Ctrl+C copies it');
		}
		setTimeout(() => setSaid(''), 3000);
	};
	return (
		<>
			<code class="path" ref={code}>
				{props.path}
			</code>
			<button type="button" class="button" onClick={() => void copy()}>
				Copy path
			</button>
			<span class="copied" role="status">
				{said}
			</span>
		</>
	);
}

function Files(props: { address: Address; lines: LineSum[] }) {
	const { address } = props;
	const blocks = inBlocks(address);
	const text = (address.params.get('q') ?? '').toLowerCase();
	const all = useMemo(() => filesOf(props.lines), [props.lines]);
	const files = useMemo(
		() =>
			all
				.filter((f) => f.file.toLowerCase().includes(text))
				.sort((a, b) => (blocks ? b.blocks - a.blocks : b.bytes - a.bytes)),
		[all, text, blocks],
	);
	const total = all.reduce((sum, f) => sum + (blocks ? f.blocks : f.bytes), 0);
	const open = (file: string) =>
		changed(address, { set: { file, line: undefined, q: undefined } });

	if (!all.length)
		return (
			<Notice title="No line of a source file has anything.">
				{filtersOf(address).length
					? 'The filters above leave nothing with a known line: remove one. '
					: ''}
				Lines are known of programs and libraries with debug information (<code>-g</code>),
				or whose debug files are at hand.
			</Notice>
		);
	return (
		<>
			<div class="tools">
				<input
					type="search"
					placeholder="File"
					aria-label="Search the files"
					value={address.params.get('q') ?? ''}
					onInput={(event) => go({ set: { q: event.currentTarget.value } }, true)}
				/>
				<span class="dim" role="status">
					{count(files.length)} {files.length === 1 ? 'file' : 'files'} with call sites
				</span>
			</div>
			<Grid
				label="Source files"
				columns={[
					{
						key: 'file',
						title: 'File',
						width: 'minmax(180px, 1fr)',
						cell: (f: FileSum) => (
							<span title={f.file}>
								<a href={open(f.file)}>{baseName(f.file)}</a>{' '}
								<span class="dim">{f.file.slice(0, -baseName(f.file).length)}</span>
							</span>
						),
					},
					{
						key: 'value',
						title: blocks ? 'Blocks' : 'Bytes',
						right: true,
						width: '100px',
						cell: (f: FileSum) => (blocks ? count(f.blocks) : size(f.bytes)),
					},
					{
						key: 'part',
						title: '%',
						right: true,
						width: '60px',
						hint: 'Of all that has a known line',
						cell: (f: FileSum) => percent(blocks ? f.blocks : f.bytes, total),
					},
					{
						key: 'other',
						title: blocks ? 'Bytes' : 'Blocks',
						right: true,
						width: '100px',
						from: 460,
						cell: (f: FileSum) => (blocks ? size(f.bytes) : count(f.blocks)),
					},
					{
						key: 'lines',
						title: 'Lines',
						right: true,
						width: '70px',
						from: 460,
						hint: 'Lines that allocated',
						cell: (f: FileSum) => count(f.lines),
					},
				]}
				total={files.length}
				row={(at) => files[at]}
			/>
		</>
	);
}

/** What is known of a file without its text. */
function WithoutText(props: { address: Address; error: AskError; lines: LineSum[] }) {
	const { address, error } = props;
	const blocks = inBlocks(address);
	const lines = [...props.lines].sort((a, b) =>
		blocks ? b.blocks - a.blocks : b.bytes - a.bytes,
	);
	const total = lines.reduce((sum, l) => sum + (blocks ? l.blocks : l.bytes), 0);
	return (
		<>
			<p class="missing">
				{error.status === 401 ? (
					<>
						Source text is shown only to who brings the collector’s token: open the page
						by the address that <code>heapcast serve</code> prints, or with{' '}
						<code>#token=</code> and the token at the end of its address.
					</>
				) : error.status === 404 ? (
					<>
						{error.message[0]!.toUpperCase() + error.message.slice(1)}. The path above
						is as the debug information has it.
					</>
				) : (
					error.message
				)}
			</p>
			{lines.length > 0 && (
				<Grid
					label="Lines that allocated"
					columns={[
						{
							key: 'line',
							title: 'Line',
							right: true,
							width: '70px',
							cell: (l: LineSum) => l.line,
						},
						{
							key: 'value',
							title: blocks ? 'Blocks' : 'Bytes',
							right: true,
							width: '100px',
							cell: (l: LineSum) => (blocks ? count(l.blocks) : size(l.bytes)),
						},
						{
							key: 'part',
							title: '%',
							right: true,
							width: '60px',
							hint: 'Of this file',
							cell: (l: LineSum) => percent(blocks ? l.blocks : l.bytes, total),
						},
						{
							key: 'function',
							title: 'Function',
							width: 'minmax(120px, 1fr)',
							cell: (l: LineSum) => l.function,
						},
					]}
					total={lines.length}
					row={(at) => lines[at]}
					keyOf={(l) => String(l.line)}
					picked={address.params.get('line') ?? ''}
					onPick={(l) =>
						go(
							{
								set: {
									line: String(l.line),
									picked: l.backtrace ? String(l.backtrace) : undefined,
									site: undefined,
								},
							},
							true,
						)
					}
				/>
			)}
		</>
	);
}

function File(props: ViewProps & { file: string; version: number; lines: LineSum[] }) {
	const { address, stream, file } = props;
	const value = valueOf(address);
	const at = address.params.get('at');
	const answer = useAnswer<SourceText>(
		about(stream.id, 'source', [
			['file', file],
			['value', value],
			['at', at && value === 'in-use' ? at : undefined],
			...filtersOf(address),
		]),
		props.version,
	);
	const mine = useMemo(() => props.lines.filter((l) => l.file === file), [props.lines, file]);
	const backtraces = useMemo(() => {
		const heaviest = new Map<number, LineSum>();
		for (const l of mine)
			if (l.bytes > (heaviest.get(l.line)?.bytes ?? -1)) heaviest.set(l.line, l);
		return heaviest;
	}, [mine]);

	return (
		<>
			<div class="tools">
				<a
					class="button"
					href={changed(address, { set: { file: undefined, line: undefined } })}
				>
					All files
				</a>
				<Path path={file} />
				<span class="grow" />
				<a
					class="button"
					href={changed(address, {
						view: 'flame',
						set: { find: baseName(file), file: undefined, line: undefined },
					})}
				>
					In the flame graph
				</a>
			</div>
			{answer.error ? (
				<WithoutText address={address} error={answer.error} lines={mine} />
			) : (
				<Answered answer={answer}>
					{(text) => (
						<Text
							text={text}
							address={address}
							backtraceOf={(line) => backtraces.get(line)?.backtrace ?? 0}
						/>
					)}
				</Answered>
			)}
		</>
	);
}

export function SourceView(props: ViewProps) {
	const { address, stream } = props;
	const version = useCalmVersion(stream);
	const file = address.params.get('file');
	const lines = useLineSums(address, stream, version);

	return (
		<div class="source">
			{file ? (
				<File {...props} file={file} version={version} lines={lines.data ?? []} />
			) : (
				<Answered answer={lines}>
					{(all) => <Files address={address} lines={all} />}
				</Answered>
			)}
		</div>
	);
}
