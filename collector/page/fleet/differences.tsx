// What differs between the boards and the builds: what grows where, and since when.
import { useState } from 'preact/hooks';
import type { FleetComparison, FleetFinding, FleetFunction, FleetLeftOut } from '../api/answers';
import { changed, go, type Address } from '../base/address';
import { useAnswer } from '../base/ask';
import { count, duration, size, when } from '../base/format';
import { Answered, Notice, Segments } from '../base/ui';
import './differences.css';

const BOARDS_SHOWN = 8;
const FUNCTIONS_SHOWN = 100;

const WORDS: Record<FleetFinding['kind'], string> = {
	leak_on_boards: 'Leak',
	growth_in_build: 'Growth in build',
	growth: 'Growth',
	more_in_build: 'More memory in build',
	more_on_boards: 'More memory',
};

function grows(finding: FleetFinding): boolean {
	return !finding.kind.startsWith('more');
}

function signed(bytes: number): string {
	return (bytes < 0 ? '−' : '+') + size(Math.abs(bytes));
}

/** A moment: of the clock, or since the start of each process. */
function moment(ns: number, byAge: boolean): string {
	return byAge ? `${duration(ns)} after the start` : when(ns / 1e6);
}

function Finding(props: { finding: FleetFinding; byAge: boolean; address: Address }) {
	const f = props.finding;
	const [all, setAll] = useState(false);
	const boards = all ? f.boards : f.boards.slice(0, BOARDS_SHOWN);
	return (
		<li class="finding">
			<h2>
				{WORDS[f.kind]}
				{f.build && <span title={f.build}> {f.build.slice(0, 8)}</span>}:{' '}
				<span class="function">{f.function ?? '?'}</span>
			</h2>
			<p>
				<strong>{signed(f.median)}</strong>
				{f.boards.length > 1 && ' on the median board'},{' '}
				{f.since_ns
					? `since ${moment(f.since_ns, props.byAge)}`
					: 'during the whole time shown'}
				.{' '}
				{grows(f) ? 'In' : 'Held in'} {f.program}
				{f.module && f.module !== f.program && ` (${f.module})`}, on{' '}
				{count(f.boards.length)} of {count(f.compared)} boards:{' '}
				{boards.map((b, i) => (
					<>
						{i > 0 && ', '}
						<a
							href={changed(props.address, {
								set: { show: undefined, q: `host=${b.host} name=${f.program}` },
							})}
							title={signed(b.bytes)}
						>
							{b.host}
						</a>
					</>
				))}
				{f.boards.length > boards.length && (
					<>
						{' '}
						<button type="button" class="link" onClick={() => setAll(true)}>
							and {count(f.boards.length - boards.length)} more
						</button>
					</>
				)}
			</p>
			<p class="dim">
				{f.earlier_build
					? `Boards with build ${f.earlier_build.slice(0, 8)} before: `
					: 'The other boards: '}
				median {signed(f.others_median)}, 95 % at most {signed(f.others_p95)}
			</p>
		</li>
	);
}

function Functions(props: { list: FleetFunction[]; total: number }) {
	return (
		<div class="tablebox" tabIndex={0}>
			<table>
				<thead>
					<tr>
						<th>Function</th>
						<th class="n">Growth on all boards</th>
						<th class="n">Median board</th>
						<th class="n minor">±</th>
						<th class="n minor">95 % at most</th>
						<th class="n">Boards growing</th>
						<th class="n minor">In use</th>
					</tr>
				</thead>
				<tbody>
					{props.list.map((f) => (
						<tr key={`${f.program} ${f.module} ${f.function}`}>
							<td class="program" title={f.module ?? undefined}>
								{f.function ?? '?'} <span class="dim">{f.program}</span>
							</td>
							<td class="n">{signed(f.growth)}</td>
							<td class="n">{signed(f.growth_median)}</td>
							<td class="n minor">{size(f.growth_median_error)}</td>
							<td class="n minor">{signed(f.growth_p95)}</td>
							<td class="n">
								{count(f.growing)} of {count(f.boards)}
							</td>
							<td class="n minor">{size(f.in_use)}</td>
						</tr>
					))}
				</tbody>
			</table>
			{props.total > props.list.length && (
				<p class="dim">and {count(props.total - props.list.length)} more functions</p>
			)}
		</div>
	);
}

const BOARDS_NAMED = 5;

/* Why boards are left out, as the collector says it. */
function leftOut(boards: FleetLeftOut[]) {
	const whys = boards.slice(0, BOARDS_NAMED).map((b) => b.why);
	const more = boards.length - whys.length;

	if (more > 0) whys.push(`${count(more)} more boards whose clocks are wrong`);
	return whys.join('; ');
}

function Report(props: { answer: FleetComparison; address: Address }) {
	const { report: r, sha256 } = props.answer;
	if (!r.boards)
		return (
			<Notice title="No boards to compare.">
				{props.answer.note ? `${props.answer.note}. ` : ''}The streams of the data folder
				are compared. A search such as <code>version=1.4</code> chooses among them.
			</Notice>
		);
	return (
		<div class="differences">
			<p class="dim">
				{count(r.boards)} {r.boards === 1 ? 'board' : 'boards'}, {count(r.builds)}{' '}
				{r.builds === 1 ? 'build' : 'builds'}, {count(r.moments)} moments from{' '}
				{moment(r.from_ns, r.by_age)} to {moment(r.to_ns, r.by_age)}.
				{r.too_short > 0 && ` ${count(r.too_short)} boards are too short to tell growth.`}
				{r.unread > 0 && ` ${count(r.unread)} streams could not be read: ${r.unread_why}`}
				{r.left_out.length > 0 && ` Left out: ${leftOut(r.left_out)}.`}
			</p>
			{r.findings.length === 0 ? (
				<Notice title="Nothing stands out.">
					No function grows, or holds more, on some boards or in one build only.
				</Notice>
			) : (
				<ol class="findings">
					{r.findings.map((f) => (
						<Finding finding={f} byAge={r.by_age} address={props.address} />
					))}
				</ol>
			)}
			<Functions list={r.functions.slice(0, FUNCTIONS_SHOWN)} total={r.functions.length} />
			{sha256 && (
				<p class="dim" title="SHA-256 of the report">
					SHA-256 {sha256}
				</p>
			)}
		</div>
	);
}

export function Differences(props: { address: Address; select: string | undefined }) {
	const start = props.address.params.get('align') === 'start';
	const parameters = new URLSearchParams();
	if (props.select) parameters.set('select', props.select);
	if (start) parameters.set('align', 'start');
	const query = parameters.toString();
	const answer = useAnswer<FleetComparison>(`fleet${query && '?'}${query}`, 0);
	return (
		<>
			<div class="tools">
				<Segments
					label="What is compared"
					options={
						[
							['clock', 'At the same time'],
							['start', 'At the same age'],
						] as const
					}
					chosen={start ? 'start' : 'clock'}
					onChoose={(align) =>
						go({ set: { align: align === 'start' ? align : undefined } })
					}
				/>
			</div>
			<Answered answer={answer}>
				{(found) => <Report answer={found} address={props.address} />}
			</Answered>
		</>
	);
}
