// Filters: what holds, as chips, and a panel in which one finds out what can be asked. While
// something is typed the server counts what would match, and says at the field what it does not
// understand.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { filtersOf, go, type Address } from '../base/address';
import { about, ask, AskError, useAnswer } from '../base/ask';
import { count } from '../base/format';
import { Notice } from '../base/ui';
import type { Ledger, Stream } from '../api/types';
import { choiceInWords, describe, type Field, type Filter, type Group } from './describe';
import { chips } from './words';
import './filters.css';

type Draft = Record<string, string>;

const sentence = (text: string) => (text ? `${text.charAt(0).toUpperCase()}${text.slice(1)}.` : '');

/** What is there to choose from, where that is quickly known. */
function useSuggestions(stream: Stream): Record<string, [string, string][]> {
	const ledger = useAnswer<Ledger>(about(stream.id, 'ledger')).data;
	const modules = useAnswer<{ rows: { path: string }[] }>(
		about(stream.id, 'sql', [
			[
				'query',
				'select distinct path from modules where path is not null order by 1 limit 300',
			],
		]),
	).data;
	return useMemo(
		() => ({
			thread: (ledger?.threads ?? [])
				.slice(0, 300)
				.map((t) => [String(t.number), `${t.name || 'thread'}, tid ${t.tid}`]),
			thread_name: [...new Set((ledger?.threads ?? []).map((t) => t.name).filter(Boolean))]
				.slice(0, 300)
				.map((name) => [name, '']),
			module: (modules?.rows ?? []).map(({ path }) => [
				path.slice(path.lastIndexOf('/') + 1) || path,
				path,
			]),
		}),
		[ledger, modules],
	);
}

function Input(props: {
	filter: Filter;
	value: string;
	error: string | undefined;
	suggestions: [string, string][] | undefined;
	label: string;
	onInput: (value: string) => void;
}) {
	const { filter, value, error, suggestions } = props;
	const common = {
		id: `filter-${filter.name}`,
		'aria-label': props.label,
		'aria-invalid': error ? true : undefined,
		'aria-describedby': `filter-${filter.name}-about`,
	};
	return (
		<div class="filter-end">
			{filter.choices.length ? (
				<select
					{...common}
					class={value ? 'set' : ''}
					value={value}
					onChange={(event) => props.onInput(event.currentTarget.value)}
				>
					<option value="">–</option>
					{filter.choices.map((choice) => (
						<option value={choice}>{choiceInWords(choice)}</option>
					))}
				</select>
			) : (
				<input
					{...common}
					type="text"
					class={value ? 'set' : ''}
					spellcheck={false}
					autocomplete="off"
					autocapitalize="off"
					list={suggestions?.length ? `filter-${filter.name}-list` : undefined}
					value={value}
					onInput={(event) => props.onInput(event.currentTarget.value)}
				/>
			)}
			{suggestions && suggestions.length > 0 && (
				<datalist id={`filter-${filter.name}-list`}>
					{suggestions.map(([what, text]) => (
						<option value={what}>{text}</option>
					))}
				</datalist>
			)}
			<p
				id={`filter-${filter.name}-about`}
				class={error ? 'filter-error' : 'dim'}
				role={error ? 'alert' : undefined}
			>
				{error ? (
					error
				) : (
					<>
						{sentence(filter.sentence)}{' '}
						{filter.example &&
							!filter.choices.length &&
							!/: .*\d/.test(filter.sentence) && (
								<>
									Such as <code>{filter.example}</code>
								</>
							)}
					</>
				)}
			</p>
		</div>
	);
}

function FieldLine(props: {
	field: Field;
	draft: Draft;
	error: AskError | undefined;
	suggestions: Record<string, [string, string][]>;
	onInput: (name: string, value: string) => void;
}) {
	const { field, draft, error } = props;
	const end = (f: Filter) =>
		field.filters.length < 2 ? '' : f.name.endsWith('_max') ? ', at most' : ', at least';
	return (
		<div class="filter-field">
			<label for={`filter-${field.filters[0]!.name}`}>{field.title}</label>
			<div class="filter-ends">
				{field.filters.map((f) => (
					<>
						{field.filters.length > 1 && (
							<span class="dim">{f.name.endsWith('_max') ? '≤' : '≥'}</span>
						)}
						<Input
							filter={f}
							value={draft[f.name] ?? ''}
							error={
								error?.parameter === f.name
									? error.message.replace(f.name, field.title)
									: undefined
							}
							suggestions={props.suggestions[f.name]}
							label={`${field.title}${end(f)}`}
							onInput={(value) => props.onInput(f.name, value)}
						/>
					</>
				))}
			</div>
		</div>
	);
}

/** Of how many allocations match, as soon as nothing has been typed for a moment. */
function useCount(
	stream: Stream,
	draft: Draft,
): { matching?: number; error?: AskError; waiting: boolean } {
	const [state, setState] = useState<{ matching?: number; error?: AskError; waiting: boolean }>({
		waiting: true,
	});
	const path = about(stream.id, 'allocations', [['count', 0], ...Object.entries(draft)]);
	useEffect(() => {
		const abort = new AbortController();
		setState((before) => ({ ...before, waiting: true }));
		const timer = setTimeout(() => {
			ask<{ total_count: number }>(path, { signal: abort.signal }).then(
				(answer) => setState({ matching: answer.total_count, waiting: false }),
				(error) => {
					if (!abort.signal.aborted) setState({ error, waiting: false });
				},
			);
		}, 300);
		return () => {
			clearTimeout(timer);
			abort.abort();
		};
	}, [path]);
	return state;
}

function matches(field: Field, text: string): boolean {
	const words = field.filters.map((f) => {
		const choices = f.choices.map(choiceInWords).join(' ');
		return `${f.name.replaceAll('_', ' ')} ${f.name} ${f.sentence} ${choices}`;
	});
	return `${field.title} ${words.join(' ')}`.toLowerCase().includes(text);
}

function Form(props: {
	address: Address;
	stream: Stream;
	groups: Group[];
	first: string;
	onClose: () => void;
}) {
	const { address, stream, groups } = props;
	const before = useMemo(() => Object.fromEntries(filtersOf(address)), []);
	const [draft, setDraft] = useState<Draft>(before);
	const [text, setText] = useState('');
	const { matching, error, waiting } = useCount(stream, draft);
	const suggestions = useSuggestions(stream);
	const form = useRef<HTMLFormElement>(null);
	const found = groups
		.map((g) => ({
			...g,
			fields: text ? g.fields.filter((f) => matches(f, text.toLowerCase())) : g.fields,
		}))
		.filter((g) => g.fields.length);
	const known = groups.flatMap((g) => g.fields.flatMap((f) => f.filters.map((x) => x.name)));
	const set = (name: string, value: string) =>
		setDraft((old) => {
			const { [name]: _, ...rest } = old;
			return value ? { ...rest, [name]: value } : rest;
		});

	useLayoutEffect(() => {
		const input = form.current?.querySelector<HTMLElement>(
			props.first ? `#filter-${CSS.escape(props.first)}` : 'input[type=search]',
		);
		input?.scrollIntoView({ block: 'center' });
		input?.focus();
	}, []);

	const apply = async (event: Event) => {
		event.preventDefault();
		try {
			await ask(about(stream.id, 'allocations', [['count', 0], ...Object.entries(draft)]));
		} catch (failure) {
			const input =
				failure instanceof AskError && failure.parameter
					? form.current?.querySelector<HTMLElement>(
							`#filter-${CSS.escape(failure.parameter)}`,
						)
					: null;
			input?.scrollIntoView({ block: 'nearest' });
			input?.focus();
			return;
		}
		go({
			set: {
				...Object.fromEntries(
					[...Object.keys(before), ...known].map((name) => [name, undefined]),
				),
				...draft,
			},
		});
		props.onClose();
	};
	return (
		<form class="filter-form" ref={form} onSubmit={apply} noValidate>
			<div class="filter-find">
				<input
					type="search"
					aria-label="Search the filters"
					placeholder="What do you look for? size, thread, realloc…"
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
				/>
			</div>
			<nav class="filter-groups" aria-label="Kinds of filters">
				{found.map((g) => {
					const set_here = g.fields
						.flatMap((f) => f.filters)
						.filter((f) => draft[f.name]).length;
					return (
						<button
							type="button"
							onClick={() =>
								form.current
									?.querySelector(
										`#group-${groups.findIndex((x) => x.title === g.title)}`,
									)
									?.scrollIntoView({ block: 'start' })
							}
						>
							{g.title}
							{set_here > 0 && (
								<span class="filter-set" aria-label={`${set_here} set`}>
									{set_here}
								</span>
							)}
						</button>
					);
				})}
			</nav>
			<div class="filter-fields" tabIndex={-1}>
				{found.map((g) => (
					<section
						id={`group-${groups.findIndex((x) => x.title === g.title)}`}
						aria-label={g.title}
					>
						<h3>{g.title}</h3>
						{!text && <p class="dim">{g.about}</p>}
						{g.fields.map((field) => (
							<FieldLine
								field={field}
								draft={draft}
								error={error}
								suggestions={suggestions}
								onInput={set}
							/>
						))}
					</section>
				))}
				{found.length === 0 && (
					<Notice title="No filter has this name.">
						A condition in SQL can ask for more than filters can: clear the search to
						find it under Other.
					</Notice>
				)}
			</div>
			<div class="filter-foot">
				<span
					role="status"
					class={error && !known.includes(error.parameter ?? '') ? 'filter-error' : 'dim'}
				>
					{error
						? known.includes(error.parameter ?? '')
							? 'One value is not understood.'
							: error.message
						: waiting && matching === undefined
							? 'Counting…'
							: `${count(matching ?? 0)} ` +
								`${matching === 1 ? 'allocation matches' : 'allocations match'}` +
								`${waiting ? '…' : ''}`}
				</span>
				<span class="grow" />
				<button
					type="button"
					class="button"
					disabled={Object.keys(draft).length === 0}
					onClick={() => setDraft({})}
				>
					Clear all
				</button>
				<button type="button" class="button" onClick={props.onClose}>
					Cancel
				</button>
				<button type="submit" class="button primary">
					Apply
				</button>
			</div>
		</form>
	);
}

/**
 * The panel, below what opens it. `first` is the filter whose field has the focus; '' the search.
 */
export function FilterPanel(props: {
	address: Address;
	stream: Stream;
	first?: string;
	onClose: () => void;
}) {
	const [groups, setGroups] = useState<Group[]>();
	const [failure, setFailure] = useState('');
	const box = useRef<HTMLDivElement>(null);

	useLayoutEffect(() => {
		// As far to the left as it must be to be seen whole.
		const beyond =
			box.current!.getBoundingClientRect().right -
			(document.documentElement.clientWidth - 14);
		if (beyond > 0) box.current!.style.marginLeft = `${-beyond}px`;
	}, []);
	useEffect(() => {
		let wanted = true;
		describe().then(
			(g) => wanted && setGroups(g),
			(error: Error) => wanted && setFailure(error.message),
		);
		return () => {
			wanted = false;
		};
	}, []);
	useEffect(() => {
		const elsewhere = (event: Event) => {
			// The button that opened it closes it by itself.
			if (!box.current?.parentElement?.contains(event.target as Node)) props.onClose();
		};
		const key = (event: KeyboardEvent) => {
			if (event.key === 'Escape') props.onClose();
		};
		addEventListener('pointerdown', elsewhere);
		addEventListener('keydown', key);
		return () => {
			removeEventListener('pointerdown', elsewhere);
			removeEventListener('keydown', key);
		};
	}, []);
	return (
		<div class="filter-panel" role="dialog" aria-label="Filters" ref={box}>
			{failure ? (
				<Notice title="The list of filters can't be loaded.">{failure}</Notice>
			) : groups ? (
				<Form {...props} groups={groups} first={props.first ?? ''} />
			) : (
				<div class="wait" role="status" aria-label="Loading" />
			)}
		</div>
	);
}

/**
 * For the bar: a chip for each filter, which opens its field, and the button that opens the panel.
 */
export function Filters(props: { address: Address; stream: Stream | undefined }) {
	const { address, stream } = props;
	const [open, setOpen] = useState<string | null>(null);
	const button = useRef<HTMLButtonElement>(null);
	const filters = filtersOf(address);
	const close = () => {
		setOpen(null);
		button.current?.focus();
	};
	return (
		<div class="filters">
			{chips(filters).map((chip) => (
				<span class="chip">
					<button
						type="button"
						class="filter-text"
						title={chip.text}
						onClick={() => setOpen(chip.names[0]!)}
					>
						{chip.text}
					</button>
					<button
						type="button"
						aria-label={`Remove the filter: ${chip.text}`}
						onClick={() =>
							go({ set: Object.fromEntries(chip.names.map((n) => [n, undefined])) })
						}
					>
						×
					</button>
				</span>
			))}
			<button
				type="button"
				class="button"
				ref={button}
				aria-haspopup="dialog"
				aria-expanded={open !== null}
				disabled={!stream}
				onClick={() => setOpen(open === null ? '' : null)}
			>
				+ Filter
			</button>
			{filters.length > 1 && (
				<button
					type="button"
					class="filter-clear"
					onClick={() =>
						go({ set: Object.fromEntries(filters.map(([name]) => [name, undefined])) })
					}
				>
					Clear all
				</button>
			)}
			{open !== null && stream && (
				<FilterPanel
					key={open}
					address={address}
					stream={stream}
					first={open}
					onClose={close}
				/>
			)}
		</div>
	);
}
