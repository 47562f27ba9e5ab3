// Temporary blocks, and all that was freed, most often first. A block that is freed before its
// thread allocates again could have been on the stack, or be kept for the next time.
import { filtersOf, go, temporaryOf } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, percent, size } from '../base/format';
import { Segments } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { HiddenNames } from '../table/hidden';
import { GroupTable, None } from '../table/sites';
import type { Report, Sum } from '../api/types';

const KINDS = [
	['temporary', 'Temporary'],
	['freed', 'All that was freed'],
] as const;

function sharesInWords(these: Sum, all: Sum): string {
	const share = percent(these.blocks, all.blocks);
	const blocks = `${count(these.blocks)} of ${count(all.blocks)} blocks (${share} %)`;
	return `${blocks}, ${size(these.bytes)}`;
}

export function TemporaryView(props: ViewProps) {
	const { address, stream } = props;
	const version = stream.state === 'live' ? (stream.events ?? 0) : 0;
	const own = temporaryOf(address);
	const strictly = own[0]![0] === 'temporary';
	const all = useAnswer<Report>(about(stream.id, 'report', filtersOf(address)), version).data;
	const these = useAnswer<Report>(
		about(stream.id, 'report', [...filtersOf(address), ...own]),
		version,
	).data;

	return (
		<div class="tableview">
			<div class="tools">
				<Segments
					label="Which"
					options={KINDS}
					chosen={strictly ? 'temporary' : 'freed'}
					onChoose={(k) => go({ set: { by: k === 'freed' ? k : undefined } })}
				/>
				<span class="dim" role="status">
					{these &&
						all &&
						all.allocated.blocks > 0 &&
						sharesInWords(these.allocated, all.allocated) +
							(strictly
								? ', were freed, or moved by realloc, before their thread ' +
									'allocated again'
								: ', were freed before the end')}
				</span>
				<HiddenNames {...props} />
			</div>
			<GroupTable
				{...props}
				own={own}
				title={strictly ? 'Temporary' : 'Freed'}
				value="temporary"
				whole={these?.allocated}
				sort="only_matched.allocated_count"
				none={
					<None
						address={address}
						title={
							strictly
								? 'No block was temporary.'
								: 'Nothing was freed before the end.'
						}
					/>
				}
			/>
		</div>
	);
}
