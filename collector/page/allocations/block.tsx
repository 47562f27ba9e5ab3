// All that is known of one block: what it was, its realloc chain, who allocated it, who freed it.
import type { ComponentChildren } from 'preact';
import { changed, go, type Address } from '../base/address';
import { about, useAnswer } from '../base/ask';
import { count, duration, size } from '../base/format';
import { Answered } from '../base/ui';
import type { ViewProps } from '../frame/views';
import { nanoseconds, type Allocation, type Allocations } from '../api/types';
import { StackList } from '../table/frames';
import { useIsHidden } from '../table/hidden';
import { byOther, endInWords, livedFor, livedInWords } from './allocations';

const CHAIN_MAX = 64;

/**
 * A block of the chain; the first of the rows also says what only SQL knows of the block itself.
 */
interface ChainRow {
	id: number;
	size: number;
	birth_ns: number;
	lifetime_ns: number;
	end: string;
	kind: string | null;
	death_kind: string | null;
	label: string | null;
	marker: number | null;
}

function chainQuery(block: number): string {
	return (
		`with recursive c(i) as (select chain from allocations where id = ${block} union all ` +
		'select a.next from c join allocations a on a.id = c.i where a.next is not null ' +
		`limit ${CHAIN_MAX}) select a.id, a.size, a.birth_ns, a.lifetime_ns, a.end, a.kind, ` +
		'a.death_kind, a.label, a.marker from c join allocations a on a.id = c.i'
	);
}

const ENDS: Record<string, string> = {
	in_use: 'not freed',
	freed: 'freed',
	reallocated: 'moved by realloc',
	inferred: 'freed, unseen: its address was given out again',
	censored: 'not seen: whether it was freed is not known',
	exec: 'gone with the memory of the program before an exec',
};

function Fact(props: { name: string; children: ComponentChildren }) {
	return (
		<>
			<dt>{props.name}</dt>
			<dd>{props.children}</dd>
		</>
	);
}

function Facts(
	props: ViewProps & { a: Allocation; chain: ChainRow[]; names: Map<number, string> },
) {
	const { a, address, names } = props;
	const own = props.chain.find((row) => row.id === a.id);
	const lived = livedFor(a);
	const thread = (tid: number) => `${names.get(tid) ? `${names.get(tid)} ` : ''}${tid}`;
	return (
		<dl class="facts">
			<Fact name="size">
				{size(a.size)}
				{a.size >= 1000 && <span class="dim"> {count(a.size)} B</span>}
			</Fact>
			{a.weight !== undefined && <Fact name="stands for">{size(a.weight)}</Fact>}
			<Fact name="address">
				<code>0x{a.address_s.replace(/^0+/, '').toLowerCase()}</code>
			</Fact>
			<Fact name="allocated">
				at {duration(nanoseconds(a.timestamp_relative))}
				{own?.kind ? ` by ${own.kind}` : ''}
			</Fact>
			<Fact name="thread">{thread(a.thread)}</Fact>
			<Fact name="lived">{lived === undefined ? 'until the end' : livedInWords(lived)}</Fact>
			<Fact name="end">
				{own ? (ENDS[own.end] ?? own.end) : endInWords(a)}
				{own?.death_kind && own.end === 'freed' ? ` by ${own.death_kind}` : ''}
			</Fact>
			{byOther(a) && a.deallocation?.thread !== undefined && (
				<Fact name="freed by thread">{thread(a.deallocation.thread)}</Fact>
			)}
			{own?.label && (
				<Fact name="label">
					<a href={changed(address, { set: { tag: own.label } })}>{own.label}</a>
				</Fact>
			)}
			{own?.marker ? (
				<Fact name="marker">
					<a href={changed(address, { set: { marker: String(own.marker) } })}>
						{own.marker}
					</a>
				</Fact>
			) : null}
			{a.is_mmaped !== undefined && (
				<Fact name="lies in">
					{a.is_mmaped
						? 'a mapping of its own'
						: a.in_main_arena
							? 'the main arena'
							: 'another arena'}
				</Fact>
			)}
			{a.is_jemalloc && <Fact name="allocator">jemalloc</Fact>}
		</dl>
	);
}

function Chain(props: ViewProps & { a: Allocation; chain: ChainRow[] }) {
	const { a, chain, address } = props;
	if (a.chain_length < 2) return null;
	return (
		<>
			<h3>
				Realloc chain: block {count(a.position_in_chain + 1)} of {count(a.chain_length)}
				{a.chain_lifetime && `, lived ${duration(nanoseconds(a.chain_lifetime))} in all`}
			</h3>
			<ol class="chain" start={(chain[0]?.id ?? 0) === a.id ? a.position_in_chain + 1 : 1}>
				{chain.map((row) => (
					<li aria-current={row.id === a.id ? 'true' : undefined}>
						<a href={changed(address, { set: { block: String(row.id) } })}>
							{size(row.size)}
						</a>
						<span class="dim">
							{' '}
							at {duration(row.birth_ns)},{' '}
							{row.end === 'in_use'
								? 'not freed'
								: `lived ${livedInWords(row.lifetime_ns)}`}
						</span>
					</li>
				))}
			</ol>
			{a.chain_length > chain.length && chain.length >= CHAIN_MAX && (
				<p class="dim">… and {count(a.chain_length - chain.length)} more.</p>
			)}
		</>
	);
}

function Stacks(props: { a: Allocation; address: Address; stream: string }) {
	const { a, address } = props;
	const isHidden = useIsHidden(props.stream, address);
	return (
		<>
			<section aria-label="Allocated by" tabIndex={0}>
				<h3>Allocated by</h3>
				{a.backtrace.length ? (
					<StackList frames={a.backtrace} address={address} isHidden={isHidden} />
				) : (
					<p class="dim">No backtrace was recorded.</p>
				)}
			</section>
			<section aria-label="Freed by" tabIndex={0}>
				<h3>{a.chain_deallocation ? 'Moved by' : 'Freed by'}</h3>
				{!a.deallocation ? (
					<p class="dim">It was not freed.</p>
				) : a.deallocation.backtrace?.length ? (
					<StackList
						frames={a.deallocation.backtrace}
						address={address}
						isHidden={isHidden}
					/>
				) : (
					<p class="dim">Backtraces of frees were not recorded.</p>
				)}
			</section>
		</>
	);
}

/** `names` of threads, by their tid. */
export function BlockPanel(props: ViewProps & { block: string; names: Map<number, string> }) {
	const { address, stream } = props;
	const block = parseInt(props.block, 10) || 0;
	// Blocks are numbered in the order of birth, so that its number is its place in the list of
	// all.
	const answer = useAnswer<Allocations>(
		about(stream.id, 'allocations', [
			['skip', block || undefined],
			['count', 1],
		]),
	);
	const chain =
		useAnswer<{ rows: ChainRow[] }>(about(stream.id, 'sql', [['query', chainQuery(block)]]))
			.data?.rows ?? [];

	return (
		<section class="block" aria-label={`Block ${block}`}>
			<header class="block-head">
				<strong>Block {count(block)}</strong>
				{answer.data?.allocations[0] && (
					<>
						<a
							href={changed(address, {
								set: {
									backtraces: String(answer.data.allocations[0].backtrace_id),
									block: undefined,
								},
							})}
						>
							All of its backtrace
						</a>
						<a
							href={changed(address, {
								view: 'flame',
								set: {
									backtraces: String(answer.data.allocations[0].backtrace_id),
								},
							})}
						>
							Flame graph
						</a>
					</>
				)}
				<span class="grow" />
				<button
					type="button"
					class="button"
					aria-label="Close what is known of the block"
					onClick={() => go({ set: { block: undefined } }, true)}
				>
					×
				</button>
			</header>
			<Answered answer={answer}>
				{({ allocations: [a] }) =>
					a ? (
						<div class="block-parts">
							<section aria-label="The block" tabIndex={0}>
								<Facts {...props} a={a} chain={chain} />
								<Chain {...props} a={a} chain={chain} />
							</section>
							<Stacks a={a} address={address} stream={stream.id} />
						</div>
					) : (
						<p class="dim">There is no block of this number.</p>
					)
				}
			</Answered>
		</section>
	);
}
