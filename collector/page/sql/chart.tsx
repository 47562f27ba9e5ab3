// An answer as a picture: lines over time, if a column is times that ascend; bars, if there is a
// number for each name.
import { useMemo } from 'preact/hooks';
import { Plot, type Line, type Unit } from '../base/plot';
import { count } from '../base/format';
import type { Rows } from '../api/types';
import { textOf, type Shown } from './columns';

const BARS = 40;
const LINES = 4;
const COLUMNS = 12; // who asks for more does not ask for a picture
const COLOURS = ['b1', 'b4', 'ok', 'dim'] as const;

export interface Picture {
	kind: 'lines' | 'bars';
	/** Index of the column that is the time, or the name. */
	of: number;
	values: number[];
}

/** What can be drawn of it; undefined: nothing. */
export function pictureOf(rows: Rows, shown: Shown[]): Picture | undefined {
	if (rows.rows.length < 2 || shown.length > COLUMNS) return undefined;
	const time = shown.findIndex(({ name, kind }) => {
		if (kind !== 'ns' && kind !== 'seconds') return false;
		let before = -Infinity;
		return rows.rows.every((row) => {
			const value = row[name];
			const ascends = typeof value === 'number' && value >= before;
			before = value as number;
			return ascends;
		});
	});
	const said = shown.flatMap(({ kind }, i) =>
		['text', 'address', 'wall', 'id'].includes(kind) || i === time ? [] : [i],
	);
	if (time >= 0 && said.length) return { kind: 'lines', of: time, values: said };
	const name = Math.max(
		0,
		shown.findIndex(({ kind }) => kind === 'text'),
	);
	const values = said.filter((i) => i !== name);
	return values.length ? { kind: 'bars', of: name, values } : undefined;
}

function Lines(props: { rows: Rows; shown: Shown[]; picture: Picture; chosen: number }) {
	const { rows, shown, picture, chosen } = props;
	const time = shown[picture.of]!;
	const { kind } = shown[chosen]!;
	const xs = useMemo(
		() => rows.rows.map((r) => (r[time.name] as number) * (time.kind === 'seconds' ? 1e9 : 1)),
		[rows, time.name],
	);
	// What is measured alike is drawn together.
	const alike = useMemo(
		() =>
			[
				chosen,
				...picture.values.filter((i) => i !== chosen && shown[i]!.kind === kind),
			].slice(0, LINES),
		[shown, picture, chosen],
	);
	const lines = useMemo<Line[]>(
		() =>
			alike.map((i, n) => ({
				name: shown[i]!.name,
				values: rows.rows.map((r) =>
					typeof r[shown[i]!.name] === 'number' ? (r[shown[i]!.name] as number) : null,
				),
				colour: COLOURS[n]!,
			})),
		[rows, alike],
	);
	const unit: Unit = kind === 'bytes' ? 'bytes' : 'blocks';
	return (
		<Plot
			title={alike.length > 1 ? 'Over time' : shown[chosen]!.name}
			unit={unit}
			xs={xs}
			lines={lines}
			height={170}
		/>
	);
}

function Bars(props: { rows: Rows; shown: Shown[]; picture: Picture; chosen: number }) {
	const { rows, shown, picture, chosen } = props;
	const name = shown[picture.of]!;
	const value = shown[chosen]!;
	const first = rows.rows.slice(0, BARS);
	const most = Math.max(1e-12, ...first.map((r) => Math.abs(Number(r[value.name] ?? 0))));
	return (
		<>
			<table class="sql-bars" aria-label={`${value.name} by ${name.name}`}>
				<colgroup>
					<col style={{ width: '34%' }} />
					<col style={{ width: '110px' }} />
					<col />
				</colgroup>
				<tbody>
					{first.map((row) => {
						const at = Number(row[value.name] ?? 0);
						const text = textOf(row[name.name], name.kind);
						return (
							<tr>
								<th scope="row" title={text}>
									{text}
								</th>
								<td class="n value">{textOf(row[value.name], value.kind)}</td>
								<td>
									<div
										class={at < 0 ? 'bar-of below' : 'bar-of'}
										style={{ width: `${(100 * Math.abs(at)) / most}%` }}
									/>
								</td>
							</tr>
						);
					})}
				</tbody>
			</table>
			{rows.rows.length > BARS && (
				<p class="dim">
					The first {BARS} of {count(rows.rows.length)} rows are drawn.
				</p>
			)}
		</>
	);
}

export function Chart(props: { rows: Rows; shown: Shown[]; picture: Picture; chosen: number }) {
	return (
		<div class="sql-plot" role="region" aria-label="Plot of the answer" tabIndex={0}>
			{props.picture.kind === 'lines' ? <Lines {...props} /> : <Bars {...props} />}
		</div>
	);
}
