// What a view shows, as a statement to go on from.
import type { Script, Sites } from '../api/types';
import { inBlocks, temporaryOf, valueOf, type Address } from '../base/address';
import { about, ask } from '../base/ask';

const BY_SITE = (where: string, order: string) =>
	`select function, file, line, sum(bytes) as bytes, sum(blocks) as blocks\nfrom ` +
	`allocations where ${where}\ngroup by function, file, line order by ${order} desc ` +
	'limit 100';

/** Views of blocks: their statement picks the blocks that the filters and the value pick. */
const OF_BLOCKS: Record<string, (where: string, address: Address) => string> = {
	bands: (where) =>
		'select stack, site(stack) as site, sum(bytes) as bytes, min(birth_ns) as ' +
		`first_ns, max(birth_ns) as last_ns\nfrom allocations where ${where}\ngroup by ` +
		'stack order by bytes desc limit 100',
	flame: (where, address) =>
		'select stack_text(stack) as functions, sum(bytes) as bytes, sum(blocks) as ' +
		`blocks\nfrom allocations where ${where}\ngroup by stack order by ` +
		`${inBlocks(address) ? 'blocks' : 'bytes'} desc limit 1000`,
	sites: (where, address) => BY_SITE(where, inBlocks(address) ? 'blocks' : 'bytes'),
	leaks: (where) => BY_SITE(where, 'bytes'),
	temporary: (where) => BY_SITE(where, 'blocks'),
	source: (where) =>
		`select f.file, f.line, sum(a.bytes) as bytes, sum(a.blocks) as blocks\nfrom ` +
		'(select stack, sum(bytes) as bytes, sum(blocks) as blocks from allocations ' +
		`where ${where} group by stack) a\njoin frames f using (stack) where f.file is ` +
		`not null\ngroup by f.file, f.line order by bytes desc limit 1000`,
	histogram: (where) =>
		'select 1 << cast(floor(log2(max(size, 1))) as integer) as size_min, sum(blocks) ' +
		`as blocks, sum(bytes) as bytes, sum(blocks * leaked) as not_freed\nfrom ` +
		`allocations where ${where}\ngroup by size_min order by size_min`,
	space: (where) =>
		`select address, size, function, file, line\nfrom allocations where ${where}\n` +
		'order by address limit 10000',
	allocations: (where, { params }) => {
		const sort = params.get('sort') ?? 'timestamp';
		const by = sort === 'size' || sort === 'address' ? sort : 'id';
		return (
			`select * from allocations where ${where}\norder by ${by}` +
			`${params.get('order') === 'dsc' ? ' desc' : ''} limit 1000`
		);
	},
};

const OTHERS: Record<string, string> = {
	overview: 'select start_ns, bytes, bytes_max, blocks, allocations, frees from timeline(300)',
	maps:
		'select name, address, size, mapped_ns, unmapped_ns, peak_rss from maps order by ' +
		'size desc limit 1000',
	figures:
		'select time_ns, rss, rss_peak, anonymous, swap, minor_faults, major_faults from figures',
	account: 'select reason, from_ns, to_ns, events from gaps order by from_ns',
};

/** Which filters of the API the value of the address is. */
async function valueAsFilters(stream: string, address: Address): Promise<[string, string][]> {
	const moment = address.params.has('alive_at') ? 'alive_at_2' : 'alive_at';
	const at = address.params.get('at');

	if (address.view === 'leaks') return [['lifetime', 'only_leaked']];
	if (address.view === 'temporary') return temporaryOf(address);
	switch (valueOf(address)) {
		case 'leaked':
			return [['lifetime', 'only_leaked']];
		case 'temporary':
			return [['lifetime', 'only_freed']];
		case 'in-use':
			return [[moment, at ?? '100%']];
		case 'peak':
			return [
				[moment, `${(await ask<Sites>(about(stream, 'peak', [['count', 0]]))).at_ns}ns`],
			];
		default:
			return [];
	}
}

export function hasStatement(view: string): boolean {
	return view in OF_BLOCKS || view in OTHERS;
}

export async function statementOf(
	stream: string,
	address: Address,
	filters: [string, string][],
): Promise<string> {
	const view = OF_BLOCKS[address.view];

	if (!view) return OTHERS[address.view]!;
	const all = [...filters, ...(await valueAsFilters(stream, address))];
	const { code } = await ask<Script>(about(stream, 'allocation_filter_to_script', all));
	return view(
		code
			.trim()
			.replace(/^select \* from allocations where /, '')
			.replace(/;$/, ''),
		address,
	);
}
