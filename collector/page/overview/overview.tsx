// What the report says of a recording, and its largest call sites.
import { changed, filtersOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, duration, percent, size } from '../base/format';
import { Answered } from '../base/ui';
import { nanoseconds, type Report, type Sum } from '../api/types';
import type { ViewProps } from '../frame/views';

function Line(props: { title: string; sum: Sum; note: string; href: string }) {
	const { sum } = props;
	return (
		<tr>
			<th scope="row">
				<a href={props.href}>{props.title}</a>
			</th>
			<td class="n">
				{size(sum.bytes)}
				{sum.bytes_error ? <span class="dim"> ± {size(sum.bytes_error)}</span> : null}
			</td>
			<td class="n">
				{count(sum.blocks)}
				{sum.blocks_error ? <span class="dim"> ± {count(sum.blocks_error)}</span> : null}
			</td>
			<td class="dim">{props.note}</td>
		</tr>
	);
}

export function Overview(props: ViewProps) {
	const { address, stream } = props;
	const answer = useAnswer<Report>(about(stream.id, 'report', filtersOf(address)), stream.state === 'live' ? (stream.events ?? 0) : 0);
	const runtime = nanoseconds(stream.runtime);
	const to = (value: string) => changed(address, { view: 'flame', set: { value } });

	return (
		<Answered answer={answer}>
			{(report) => (
				<div class="overview">
					<section>
						<h2>{stream.cmdline || stream.name}</h2>
						<p class="dim">
							{stream.executable}, {stream.architecture}, recorded for {duration(runtime)}, {count(report.threads)} {report.threads === 1 ? 'thread' : 'threads'},{' '}
							{count(report.modules)} modules, {count(report.distinct_backtraces)} different backtraces
						</p>
						<table class="sums">
							<thead>
								<tr>
									<th />
									<th class="n">Bytes</th>
									<th class="n">Blocks</th>
									<th />
								</tr>
							</thead>
							<tbody>
								<Line title="Allocated" sum={report.allocated} note="in all" href={to('allocated')} />
								<Line title="Temporary" sum={report.temporary} note={`freed before the end, ${percent(report.temporary.bytes, report.allocated.bytes)} %`} href={to('temporary')} />
								<Line
									title={stream.watched_from_start === false || stream.watched_to_end === false ? 'Not freed' : 'Leaked'}
									sum={report.leaked}
									note={stream.watched_to_end === false ? 'not freed while it was watched' : 'never freed'}
									href={to('leaked')}
								/>
								<Line title="Peak" sum={report.peak} note={`in use at once, at ${duration(report.peak_ns)}`} href={to('peak')} />
							</tbody>
						</table>
						{report.failed > 0 && <p>{count(report.failed)} allocations failed: the program was told that there is no memory.</p>}
					</section>
				</div>
			)}
		</Answered>
	);
}
