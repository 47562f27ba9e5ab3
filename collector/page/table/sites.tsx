// Call sites: the lines that allocated, the largest first.
import { filtersOf, go, inBlocks, valueOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { baseName, count, percent, size } from '../base/format';
import { Answered, Notice } from '../base/ui';
import type { ViewProps } from '../frame/views';
import type { Sites } from '../api/types';

const COUNT = 200;

export function SitesView(props: ViewProps) {
	const { address, stream } = props;
	const value = valueOf(address);
	const at = address.params.get('at');
	const moment = value === 'peak' ? 'peak' : 'snapshot';
	const path = about(stream.id, moment, [
		['count', COUNT],
		...(moment === 'snapshot' ? ([['at', at ?? undefined]] as [string, string | undefined][]) : []),
		...filtersOf(address),
	]);
	const answer = useAnswer<Sites>(path, stream.state === 'live' ? (stream.events ?? 0) : 0);
	const blocks = inBlocks(address);

	return (
		<Answered answer={answer}>
			{(sites) =>
				sites.groups.length === 0 ? (
					<Notice title="No call site has anything in use then." />
				) : (
					<div class="tablebox" tabIndex={0}>
						<table>
							<thead>
								<tr>
									<th>Call site</th>
									<th>Place</th>
									<th>Module</th>
									<th class="n">{value === 'peak' ? 'At the peak' : 'In use'}</th>
									<th class="n">%</th>
									<th class="n">Blocks</th>
									<th class="n">Allocated</th>
									<th class="n">Not freed</th>
									<th class="n">Block size</th>
								</tr>
							</thead>
							<tbody>
								{sites.groups.map((g) => (
									<tr onClick={() => go({ set: { picked: String(g.backtrace_id) } }, true)} aria-selected={address.params.get('picked') === String(g.backtrace_id)}>
										<td class="text">
											<button type="button" class="plain" onClick={() => go({ set: { picked: String(g.backtrace_id) } }, true)}>
												{g.function ?? '[unknown]'}
											</button>
										</td>
										<td class="text dim">{g.file ? `${baseName(g.file)}:${g.line}` : ''}</td>
										<td class="text dim">{baseName(g.module ?? '')}</td>
										<td class="n">{blocks ? count(g.value.blocks) : size(g.value.bytes)}</td>
										<td class="n">{blocks ? percent(g.value.blocks, sites.total.blocks) : percent(g.value.bytes, sites.total.bytes)}</td>
										<td class="n">{count(g.value.blocks)}</td>
										<td class="n">{size(g.allocated.bytes)}</td>
										<td class="n">{size(g.leaked.bytes)}</td>
										<td class="n">{g.min_size === g.max_size ? size(g.min_size) : `${size(g.min_size)} – ${size(g.max_size)}`}</td>
									</tr>
								))}
							</tbody>
						</table>
						{sites.group_count > COUNT && <p class="dim more">The largest {COUNT} of {count(sites.group_count)} are shown: filters find others.</p>}
					</div>
				)
			}
		</Answered>
	);
}
