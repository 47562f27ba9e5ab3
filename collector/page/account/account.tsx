// The account: what was produced, stored and lost, why, and how the program ended, in the words of
// `heapcast ledger`.
import { about, useAnswer } from '../base/ask';
import { count, duration, size } from '../base/format';
import { Answered } from '../base/ui';
import type { Gap, Ledger, State } from '../api/types';
import type { ViewProps } from '../frame/views';

function Lines(props: { ledger: Ledger }) {
	return (
		<table class="sums">
			<tbody>
				{props.ledger.lines.map((line) => (
					<tr>
						<th scope="row" class={line.text.startsWith('  ') ? 'part' : ''}>
							{line.text.trim()}
						</th>
						<td class="n">
							{line.name.endsWith('_bytes') ? size(line.value) : count(line.value)}
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

const SHOWN = 200;

function Gaps(props: { gaps: Gap[] }) {
	return (
		<>
			<h3>Losses</h3>
			<table class="wide">
				<thead>
					<tr>
						<th class="n">From</th>
						<th class="n">For</th>
						<th class="n">Events</th>
						<th class="n">Bytes</th>
						<th class="n">Thread</th>
						<th>Why</th>
					</tr>
				</thead>
				<tbody>
					{props.gaps.slice(0, SHOWN).map((g) => (
						<tr>
							<td class="n">{duration(g.from_ns)}</td>
							<td class="n">{duration(g.to_ns - g.from_ns)}</td>
							<td class="n">{count(g.events)}</td>
							<td class="n">{size(g.bytes)}</td>
							<td class="n">{g.thread}</td>
							<td>{g.reason}</td>
						</tr>
					))}
				</tbody>
			</table>
			{props.gaps.length > SHOWN && (
				<p class="dim">
					The first {SHOWN} of {count(props.gaps.length)} are shown:{' '}
					<code>heapcast ledger --json</code> has all.
				</p>
			)}
		</>
	);
}

function States(props: { states: State[] }) {
	return (
		<>
			<h3>What happened to the recording</h3>
			<table class="wide">
				<thead>
					<tr>
						<th class="n">At</th>
						<th>What</th>
						<th>By</th>
					</tr>
				</thead>
				<tbody>
					{props.states.slice(0, SHOWN).map((s) => (
						<tr>
							<td class="n">{duration(s.time_ns)}</td>
							<td>
								{s.what}
								{s.thread ? `, thread ${s.thread}` : ''}
							</td>
							<td>{s.by ?? ''}</td>
						</tr>
					))}
				</tbody>
			</table>
		</>
	);
}

export function AccountView(props: ViewProps) {
	const { stream } = props;
	const answer = useAnswer<Ledger>(
		about(stream.id, 'ledger'),
		stream.state === 'live' ? (stream.events ?? 0) : 0,
	);
	return (
		<Answered answer={answer}>
			{(ledger) => (
				<div class="page" tabIndex={0}>
					<h2>
						{ledger.adds_up
							? ledger.complete
								? 'The account adds up, and is complete.'
								: 'The account adds up, but is not complete.'
							: `The account does not add up: ${ledger.reason}.`}
					</h2>
					<p class="dim">
						Every thread of a recorded program numbers its events. Each event was
						delivered, belonged to a short-lived block, was not sampled, or was lost.
						{ledger.end
							? ` The program ${ledger.end.how}.`
							: ' The end of the program has not been seen yet.'}
					</p>
					<Lines ledger={ledger} />
					{ledger.gaps.length > 0 && <Gaps gaps={ledger.gaps} />}
					{ledger.unrecorded_children.length > 0 && (
						<>
							<h3>Children that were not recorded</h3>
							<table class="wide">
								<thead>
									<tr>
										<th>Program</th>
										<th class="n">PID</th>
										<th class="n">Events</th>
										<th class="n">Bytes allocated</th>
									</tr>
								</thead>
								<tbody>
									{ledger.unrecorded_children.slice(0, SHOWN).map((c) => (
										<tr>
											<td>{c.name}</td>
											<td class="n">{c.pid}</td>
											<td class="n">
												{c.counted ? count(c.events) : 'not counted'}
											</td>
											<td class="n">{c.counted ? size(c.bytes) : ''}</td>
										</tr>
									))}
								</tbody>
							</table>
						</>
					)}
					{ledger.states.length > 0 && <States states={ledger.states} />}
					<h3>Threads</h3>
					<table class="wide">
						<thead>
							<tr>
								<th>Thread</th>
								<th>Name</th>
								<th class="n">Produced</th>
								<th class="n">Stored</th>
								<th class="n">Lost</th>
							</tr>
						</thead>
						<tbody>
							{ledger.threads.slice(0, SHOWN).map((t) => (
								<tr>
									<td>{t.number}</td>
									<td>{t.name}</td>
									<td class="n">{count(t.produced)}</td>
									<td class="n">{count(t.stored)}</td>
									<td class="n">{count(t.lost)}</td>
								</tr>
							))}
						</tbody>
					</table>
				</div>
			)}
		</Answered>
	);
}
