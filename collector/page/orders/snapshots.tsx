// The snapshots of the fleet that there are, and who is in them.
import { changed, type Address } from '../base/address';
import { useAnswer } from '../base/ask';
import { count, duration, size, when } from '../base/format';
import { Answered, Notice } from '../base/ui';
import { useFleet } from '../frame/fleet_state';
import { memberInWords, type FleetSnapshot } from './snapshot';

const SHOWN = 50;

function Members(props: { snapshot: FleetSnapshot; address: Address }) {
	const { processes, missing } = props.snapshot;
	return (
		<details>
			<summary>
				{count(processes.length)} {processes.length === 1 ? 'process' : 'processes'}
				{missing.length > 0 && (
					<span class="warning">⚠ {count(missing.length)} missing</span>
				)}
			</summary>
			<ul class="members">
				{processes.slice(0, SHOWN).map((m) => (
					<li>
						<a
							href={changed(props.address, {
								stream: m.stream.slice(0, 12),
								view: 'flame',
								fresh: true,
								set: { value: 'in-use', at: `${m.time_ns / 1e9}s` },
							})}
						>
							{memberInWords(m)}
						</a>{' '}
						{size(m.in_use.bytes)}
					</li>
				))}
				{processes.length > SHOWN && (
					<li class="dim">and {count(processes.length - SHOWN)} more</li>
				)}
				{missing.slice(0, SHOWN).map((m) => (
					<li class="more">
						without {memberInWords(m)}: {m.why}
					</li>
				))}
			</ul>
		</details>
	);
}

export function Snapshots(props: { address: Address; version: number }) {
	const { streams } = useFleet();
	const answer = useAnswer<FleetSnapshot[]>(
		'snapshots',
		1 + (streams?.length ?? 0) + props.version,
	);
	return (
		<Answered answer={answer}>
			{(list) =>
				list.length === 0 ? (
					<Notice title="No snapshot yet.">
						Take one of all live programs here, or by{' '}
						<code>heapcast snapshot take</code>.
					</Notice>
				) : (
					<div class="tablebox snapshots" tabIndex={0}>
						<table>
							<thead>
								<tr>
									<th>Snapshot</th>
									<th class="n">In use</th>
									<th class="n minor">Blocks</th>
									<th>Of</th>
									<th class="n minor">Taken</th>
									<th class="n minor">Took</th>
									<th class="n minor">Clocks apart</th>
								</tr>
							</thead>
							<tbody>
								{[...list].reverse().map((s) => (
									<tr key={s.name}>
										<td class="program">
											{s.id ? (
												<a
													href={changed(props.address, {
														stream: s.id.slice(0, 12),
														view: 'overview',
														fresh: true,
													})}
												>
													{s.name}
												</a>
											) : (
												s.name
											)}
										</td>
										<td class="n">{size(s.in_use.bytes)}</td>
										<td class="n minor">{count(s.in_use.blocks)}</td>
										<td class="of">
											<Members snapshot={s} address={props.address} />
										</td>
										<td class="n minor">{when(s.wall_ns / 1e6)}</td>
										<td class="n minor">{duration(s.took_ns)}</td>
										<td class="n minor">{duration(s.clock_spread_ns)}</td>
									</tr>
								))}
							</tbody>
						</table>
					</div>
				)
			}
		</Answered>
	);
}
