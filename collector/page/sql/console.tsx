// The SQL console: a statement, its answer as a table and a picture, what was asked before. The
// statement that is shown answered is in the address (`query`), so that a link asks it again.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { changed, filtersOf, go, type Address } from '../base/address';
import { about, ask, AskError, send } from '../base/ask';
import { count, duration } from '../base/format';
import { Grid, type Column } from '../base/grid';
import { Notice, Segments } from '../base/ui';
import { Menu } from '../frame/menu';
import type { ViewProps } from '../frame/views';
import type { Question, Rows, Script } from '../api/types';
import { Chart, pictureOf } from './chart';
import { kindsOf, textOf, type Shown, type Value } from './columns';
import { Editor, type Handle, type Place } from './editor';
import { history, remember } from './history';
import { EXAMPLES, schemaOf, TABLES, type Schema } from './schema';

const MOST = 20000; // rows; the file has more

interface Result {
	state: 'running' | 'done' | 'failed' | 'cancelled';
	since: number;
	took?: number;
	rows?: Rows;
	/** Since when `rows` was asked for: while another statement runs, the one before. */
	rowsOf?: number;
	error?: AskError;
	place?: Place;
}

function placeOf(message: string): Place | undefined {
	const found = /line (\d+), column (\d+)/.exec(message);
	return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}

/** Asks it, and asks no more when it is no longer wanted. */
function useResult(
	stream: string,
	statement: string,
	runs: number,
): [Result | undefined, () => void] {
	const [result, setResult] = useState<Result>();
	const abort = useRef<AbortController>();

	useEffect(() => {
		if (!statement.trim()) {
			setResult(undefined);
			return undefined;
		}
		const control = new AbortController();
		const since = performance.now();
		abort.current = control;
		setResult((before) => ({
			state: 'running',
			since,
			...(before?.rows ? { rows: before.rows, rowsOf: before.rowsOf! } : {}),
		}));
		ask<Rows>(about(stream, 'sql', [['count', MOST]]), {
			signal: control.signal,
			text: statement,
		}).then(
			(rows) =>
				setResult({
					state: 'done',
					since,
					took: performance.now() - since,
					rows,
					rowsOf: since,
				}),
			(error: AskError) => {
				if (abort.current !== control) return;
				if (control.signal.aborted) setResult({ state: 'cancelled', since });
				else setResult({ state: 'failed', since, error, place: placeOf(error.message) });
			},
		);
		return () => {
			abort.current = undefined;
			control.abort();
		};
	}, [stream, statement, runs]);
	return [result, () => abort.current?.abort()];
}

const LOOK_AFTER = 600;

/** How far the server is with it; only of what takes long. */
function Progress(props: { stream: string; since: number }) {
	const [text, setText] = useState('Running…');
	useEffect(() => {
		const control = new AbortController();
		const look = () =>
			ask<Question[]>('questions', { signal: control.signal }).then(
				(all) => {
					const asked = `/data/${props.stream}/sql`;
					// The latest is the first, and it is ours.
					const mine = all.find((q) => q.path === asked && !q.cancelled);
					const seconds = duration(performance.now() * 1e6 - props.since * 1e6);
					if (mine?.state === 'waiting')
						setText(`Waiting for ${seconds}: another question is being answered.`);
					else if (mine?.blocks)
						setText(
							`Running for ${seconds}: ${count(mine.blocks_done ?? 0)} of ` +
								`${count(mine.blocks)} blocks of allocations read.`,
						);
					else setText(`Running for ${seconds}.`);
				},
				() => {},
			);
		const timer = setInterval(look, LOOK_AFTER);
		return () => {
			clearInterval(timer);
			control.abort();
		};
	}, [props.stream, props.since]);
	return (
		<span class="dim" role="status">
			{text}
		</span>
	);
}

type Row = Record<string, Value>;

function Cell(props: { address: Address; column: Shown; row: Row; text: string }) {
	const { column, row, address } = props;
	const value = row[column.name];
	if (value === null || value === undefined) return <span class="null">{props.text}</span>;
	if ((column.name === 'stack' || column.name === 'death_stack') && typeof value === 'number')
		return (
			<button
				type="button"
				class="plain"
				title="Show this backtrace at the right"
				onClick={() => go({ set: { picked: String(value), site: undefined } }, true)}
			>
				{props.text}
			</button>
		);
	if (column.name === 'function' && column.kind === 'text')
		return (
			<a
				href={changed(address, {
					view: 'flame',
					set: { find: String(value), query: undefined },
				})}
			>
				{props.text}
			</a>
		);
	if (column.name === 'file' && column.kind === 'text')
		return (
			<a
				href={changed(address, {
					view: 'source',
					set: {
						file: String(value),
						line: row.line ? String(row.line) : undefined,
						query: undefined,
					},
				})}
			>
				{props.text}
			</a>
		);
	return <>{props.text}</>;
}

const MEASURED = 100;
const PATH = 44;

/** The end of a path says more than its beginning. */
function cellText(value: Value | undefined, column: Shown): string {
	const text = textOf(value, column.kind);
	return (column.name === 'file' || column.name === 'module' || column.name === 'path') &&
		text.length > PATH
		? `…${text.slice(1 - PATH)}`
		: text;
}

function Answer(props: {
	address: Address;
	rows: Rows;
	showsPlot: boolean;
	onShowsPlot: (shows: boolean) => void;
}) {
	const { rows, address, showsPlot } = props;
	const [value, setValue] = useState<string>();
	const shown = useMemo(() => kindsOf(rows), [rows]);
	const picture = useMemo(() => pictureOf(rows, shown), [rows, shown]);
	const chosen =
		picture && (picture.values.find((i) => shown[i]!.name === value) ?? picture.values[0]!);
	const columns = useMemo(
		(): Column<Row>[] =>
			shown.map((column) => {
				const { name, kind } = column;
				let longest = name.length;
				for (const row of rows.rows.slice(0, MEASURED))
					longest = Math.max(longest, cellText(row[name], column).length);
				const width = Math.round(
					Math.min(460, Math.max(64, longest * (kind === 'text' ? 7.6 : 8.4) + 26)),
				);
				return {
					key: name,
					title: name,
					right: kind !== 'text',
					width: `${width}px`,
					cell: (row: Row) => (
						<span
							title={
								row[name] === null || row[name] === undefined
									? undefined
									: String(row[name])
							}
						>
							<Cell
								address={address}
								column={column}
								row={row}
								text={cellText(row[name], column)}
							/>
						</span>
					),
				};
			}),
		[rows, shown, address.params.toString()],
	);

	if (!rows.rows.length)
		return (
			<Notice title="No rows.">
				The statement is right, but nothing fits it. It asks the whole recording: filters
				above do not count here.
			</Notice>
		);
	return (
		<>
			{picture && (
				<div class="tools">
					<Segments
						label="How the answer is shown"
						options={
							[
								['plot', 'Plot and table'],
								['table', 'Table'],
							] as const
						}
						chosen={showsPlot ? 'plot' : 'table'}
						onChoose={(what) => props.onShowsPlot(what === 'plot')}
					/>
					{showsPlot && picture.values.length > 1 && picture.values.length <= 6 && (
						<Segments
							label="The column that is drawn"
							options={picture.values.map(
								(i) => [shown[i]!.name, shown[i]!.name] as const,
							)}
							chosen={shown[chosen!]!.name}
							onChoose={setValue}
						/>
					)}
				</div>
			)}
			{picture && showsPlot && (
				<Chart rows={rows} shown={shown} picture={picture} chosen={chosen!} />
			)}
			{rows.cut && (
				<p class="dim sql-cut">
					The first {count(rows.rows.length)} rows are shown, there are more: add `limit`
					or a condition. The CSV file has up to 100,000.
				</p>
			)}
			<Grid
				label="The answer"
				columns={columns}
				total={rows.rows.length}
				row={(at) => rows.rows[at]}
			/>
		</>
	);
}

function Tables(props: { schema: Schema; onChoose: (text: string) => void }) {
	return (
		<Menu title="Tables" label="Tables and their columns">
			{() => (
				<>
					<p class="dim">A click writes the name where the cursor is.</p>
					{Object.entries(TABLES).map(([name, what]) => (
						<details>
							<summary class="choice">
								<strong>{name}</strong> <span class="dim">{what}</span>
							</summary>
							<button
								type="button"
								class="choice"
								onClick={() => props.onChoose(name)}
							>
								{name} <span class="dim">the table</span>
							</button>
							{(props.schema[name] ?? []).map((c) => (
								<button
									type="button"
									class="choice"
									onClick={() => props.onChoose(c.name)}
								>
									{c.name} <span class="dim">{c.type}</span>
								</button>
							))}
						</details>
					))}
				</>
			)}
		</Menu>
	);
}

/** The filters of the page as a statement, to begin from. */
async function statementOf(stream: string, address: Address): Promise<string> {
	const { prologue, code } = await ask<Script>(
		about(stream, 'allocation_filter_to_script', filtersOf(address)),
	);
	return [prologue, code]
		.filter((s) => s?.trim())
		.join('\n')
		.trim();
}

export function Console(props: ViewProps) {
	const { address, stream } = props;
	const statement = address.params.get('query') ?? '';
	const [runs, setRuns] = useState(0);
	const [schema, setSchema] = useState<Schema>({});
	const [trouble, setTrouble] = useState('');
	const [showsPlot, setShowsPlot] = useState(true);
	const [result, cancel] = useResult(stream.id, statement, runs);
	const editor = useRef<Handle>();
	const running = result?.state === 'running';
	const filters = filtersOf(address).length > 0;

	useEffect(() => {
		void schemaOf(stream.id).then(setSchema);
	}, []);
	// Back and forward, and links, bring another statement.
	useEffect(() => {
		if (statement && editor.current && editor.current.text().trim() !== statement.trim())
			editor.current.put(statement);
	}, [statement]);
	useEffect(() => editor.current?.mark(result?.place), [result]);

	const run = (text = editor.current?.text() ?? '') => {
		const wanted = text.trim().replace(/;\s*$/, '');
		if (!wanted) return;
		setTrouble('');
		remember(wanted);
		if (wanted === statement) setRuns((n) => n + 1);
		else go({ set: { query: wanted } });
	};
	const start = (text: string) => {
		editor.current?.put(text);
		run(text);
	};
	const download = () => {
		setTrouble('');
		send(about(stream.id, 'sql', [['format', 'csv']]), { text: statement })
			.then((response) => response.blob())
			.then((blob) => {
				const link = document.createElement('a');
				link.href = URL.createObjectURL(blob);
				link.download = `${stream.name}.csv`;
				link.click();
				setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
			})
			.catch((error: Error) => setTrouble(`There is no file: ${error.message}`));
	};

	return (
		<div class="sql">
			<Editor text={statement} schema={schema} handle={editor} onRun={() => run()} />
			<div class="tools">
				{running ? (
					<button type="button" class="button" onClick={cancel}>
						Cancel
					</button>
				) : (
					<button type="button" class="button run" onClick={() => run()}>
						Run<kbd>Ctrl Enter</kbd>
					</button>
				)}
				<Menu title="Examples" label="Examples">
					{(close) =>
						EXAMPLES.map(([title, text]) => (
							<button
								type="button"
								class="choice"
								title={text}
								onClick={() => {
									close();
									start(text);
								}}
							>
								{title}
							</button>
						))
					}
				</Menu>
				<Menu title="History" label="Statements that were run in this tab">
					{(close) =>
						history().length ? (
							history().map((text) => (
								<button
									type="button"
									class="choice"
									title={text}
									onClick={() => {
										close();
										editor.current?.put(text);
									}}
								>
									<code>{text}</code>
								</button>
							))
						) : (
							<p class="dim">Nothing was run in this tab yet.</p>
						)
					}
				</Menu>
				<Tables schema={schema} onChoose={(text) => editor.current?.insert(text)} />
				{filters && (
					<button
						type="button"
						class="button"
						title="Writes a statement that picks what the filters above do"
						onClick={() =>
							void statementOf(stream.id, address).then(
								(text) => editor.current?.put(text),
								(error: Error) => setTrouble(error.message),
							)
						}
					>
						Filters as SQL
					</button>
				)}
				<span class="grow" />
				{running ? (
					<Progress stream={stream.id} since={result.since} />
				) : result?.rows ? (
					<span class="dim" role="status">
						{count(result.rows.rows.length)}
						{result.rows.cut ? '+' : ''}{' '}
						{result.rows.rows.length === 1 ? 'row' : 'rows'} in{' '}
						{duration((result.took ?? 0) * 1e6)}
					</span>
				) : result?.state === 'cancelled' ? (
					<span class="dim" role="status">
						Cancelled.
					</span>
				) : null}
				{result?.rows && result.rows.rows.length > 0 && (
					<button type="button" class="button" onClick={download} disabled={running}>
						CSV
					</button>
				)}
			</div>
			{trouble && (
				<p class="sql-fault" role="alert">
					{trouble}
				</p>
			)}
			{result?.error && (
				<p class="sql-fault" role="alert">
					{result.place ? (
						<button
							type="button"
							class="plain"
							onClick={() => editor.current?.goTo(result.place!)}
						>
							{result.error.message}
						</button>
					) : (
						result.error.message
					)}
				</p>
			)}
			{result?.rows ? (
				<div class={running ? 'answered stale' : 'answered'}>
					<Answer
						key={result.rowsOf}
						address={address}
						rows={result.rows}
						showsPlot={showsPlot}
						onShowsPlot={setShowsPlot}
					/>
				</div>
			) : running ? (
				<div class="wait" role="status" aria-label="Running" />
			) : result ? null : (
				<Notice title="Ask what no view foresaw.">
					SQLite’s SQL over the tables of this recording:{' '}
					<a href={changed(address, { set: { query: EXAMPLES[0]![1] } })}>
						{EXAMPLES[0]![0]}
					</a>
					,{' '}
					<a href={changed(address, { set: { query: EXAMPLES[2]![1] } })}>
						{EXAMPLES[2]![0].toLowerCase()}
					</a>
					, and more under “Examples”. “Tables” has all tables and columns.
				</Notice>
			)}
		</div>
	);
}
