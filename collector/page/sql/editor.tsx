// The editor of statements: CodeMirror. It lies below a shadow root: there its styles are adopted
// as style sheets, which the page's content security policy (no styles but those of files) allows,
// and a <style> in the document would not.
import {
	acceptCompletion,
	autocompletion,
	closeBrackets,
	closeBracketsKeymap,
	completionKeymap,
	type Completion,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { SQLDialect, SQLite, sql } from '@codemirror/lang-sql';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import {
	Compartment,
	EditorState,
	Prec,
	StateEffect,
	StateField,
	type Extension,
} from '@codemirror/state';
import {
	Decoration,
	drawSelection,
	EditorView,
	keymap,
	lineNumbers,
	placeholder,
	type DecorationSet,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'preact/hooks';
import { FUNCTIONS, TABLES, type Schema } from './schema';

/** Where the server found a fault; both from 1. Columns are bytes of UTF-8. */
export interface Place {
	line: number;
	column: number;
}

export interface Handle {
	text: () => string;
	put: (text: string) => void;
	insert: (text: string) => void;
	mark: (place: Place | undefined) => void;
	goTo: (place: Place) => void;
}

// SQLite's keywords that a statement here can need; CodeMirror's list has those of all of SQL.
const dialect = SQLDialect.define({
	...SQLite.spec,
	keywords:
		'all and as asc between by case cast collate cross desc distinct else end escape ' +
		'except exists explain filter first following from full glob group groups having ' +
		'in ' +
		('inner intersect is isnull join last left like limit materialized natural not ' +
			'notnull nulls offset on or order outer over partition preceding query plan ' +
			'range ') +
		('recursive regexp right row rows select then ties unbounded union using values ' +
			'when where window with without current exclude'),
	types: 'integer real text blob',
});

const SELECTION =
	'&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ' +
	'.cm-selectionBackground';

const look = EditorView.theme({
	'&': { height: '100%', fontSize: '13px', color: 'var(--text)', backgroundColor: 'var(--bg)' },
	'&.cm-focused': { outline: 'none' },
	'.cm-scroller': { fontFamily: 'ui-monospace, monospace', lineHeight: '1.5', overflow: 'auto' },
	'.cm-content': { caretColor: 'var(--text)', padding: '6px 0' },
	'.cm-cursor': { borderLeftColor: 'var(--text)' },
	'.cm-gutters': {
		backgroundColor: 'var(--panel)',
		color: 'var(--dim)',
		border: 'none',
		borderRight: '1px solid var(--line)',
	},
	'.cm-placeholder': { color: 'var(--dim)' },
	[SELECTION]: { backgroundColor: 'var(--b3)' },
	'.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
		backgroundColor: 'var(--b3)',
		outline: 'none',
	},
	'.cm-fault': {
		textDecoration: 'underline wavy var(--warn)',
		backgroundColor: 'var(--warn-bg)',
	},
	'.cm-tooltip': {
		backgroundColor: 'var(--bg)',
		color: 'var(--text)',
		border: '1px solid var(--line)',
		borderRadius: '5px',
		boxShadow: '0 2px 8px #0003',
		zIndex: '20',
	},
	'.cm-tooltip.cm-tooltip-autocomplete > ul': {
		fontFamily: 'ui-monospace, monospace',
		fontSize: '12px',
		maxHeight: '220px',
	},
	'.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px' },
	'.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
		backgroundColor: 'var(--accent)',
		color: 'var(--on-accent)',
	},
	'.cm-completionDetail': {
		color: 'var(--dim)',
		fontStyle: 'normal',
		fontFamily: 'system-ui, sans-serif',
	},
	'li[aria-selected] .cm-completionDetail': { color: 'inherit' },
	'.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
});

const colours = HighlightStyle.define([
	{ tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], color: 'var(--accent)' },
	{ tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
	{ tag: [tags.number], color: 'var(--b4)' },
	{
		tag: [tags.comment, tags.lineComment, tags.blockComment],
		color: 'var(--dim)',
		fontStyle: 'italic',
	},
]);

const setFault = StateEffect.define<{ from: number; to: number } | undefined>();
const fault = StateField.define<DecorationSet>({
	create: () => Decoration.none,
	update(marks, change) {
		let now = change.docChanged ? Decoration.none : marks;
		for (const effect of change.effects)
			if (effect.is(setFault))
				now = effect.value
					? Decoration.set(
							Decoration.mark({ class: 'cm-fault' }).range(
								effect.value.from,
								effect.value.to,
							),
						)
					: Decoration.none;
		return now;
	},
	provide: (field) => EditorView.decorations.from(field),
});

/**
 * Typing over a selection. Left to the browser, Chromium keeps the colours of what goes by a style
 * attribute, which the policy forbids, and the console says so.
 */
const typedOver = EditorView.domEventHandlers({
	beforeinput(event, view) {
		const { from, to, empty } = view.state.selection.main;
		const text = event.data;
		if (event.inputType !== 'insertText' || !text || empty || view.composing) return false;
		event.preventDefault();
		const insert = () =>
			view.state.update(view.state.replaceSelection(text), {
				userEvent: 'input.type',
				scrollIntoView: true,
			});
		if (
			!view.state
				.facet(EditorView.inputHandler)
				.some((handles) => handles(view, from, to, text, insert))
		)
			view.dispatch(insert());
		return true;
	},
});

function offsetOf(state: EditorState, place: Place): number {
	const line = state.doc.line(Math.max(1, Math.min(state.doc.lines, place.line)));
	const before = new TextEncoder().encode(line.text).subarray(0, Math.max(0, place.column - 1));
	return Math.min(line.to, line.from + new TextDecoder().decode(before).length);
}

/** The word at the fault; at the end of a line, the one before. */
function rangeOf(state: EditorState, place: Place): { from: number; to: number } | undefined {
	const at = offsetOf(state, place);
	const word = state.wordAt(at);
	if (word && word.from < word.to) return { from: word.from, to: word.to };
	const from = at < state.doc.length ? at : Math.max(0, at - 1);
	return from < state.doc.length ? { from, to: from + 1 } : undefined;
}

function language(schema: Schema): Extension {
	const tables: Record<string, { self: Completion; children: Completion[] }> = {};
	for (const [name, what] of Object.entries(TABLES))
		tables[name] = {
			self: { label: name, type: 'type', detail: what },
			children: (schema[name] ?? []).map((c) => ({
				label: c.name,
				type: 'property',
				detail: c.type,
			})),
		};
	const functions: Completion[] = FUNCTIONS.map(([name, what]) => ({
		label: name,
		type: 'function',
		detail: what,
		apply: `${name}(`,
	}));
	// Columns of any table, since what is before `from` is written first.
	const columns = new Map<string, Completion>();
	for (const [table, all] of Object.entries(schema))
		for (const c of all) {
			const old = columns.get(c.name);
			columns.set(c.name, {
				label: c.name,
				type: 'property',
				boost: table === 'allocations' || table === 'stacks' ? 1 : 0,
				detail: old ? `${old.detail}, ${table}` : table,
			});
		}
	const others = [...functions, ...columns.values()];
	return [
		sql({ dialect, schema: tables }),
		dialect.language.data.of({
			autocomplete: (context: {
				matchBefore: (re: RegExp) => { from: number; to: number } | null;
				explicit: boolean;
			}) => {
				const word = context.matchBefore(/[A-Za-z_][A-Za-z_0-9]*/);
				const behindDot = context.matchBefore(/\.[A-Za-z_0-9]*/);
				if (!word || behindDot) return null;
				return { from: word.from, options: others, validFor: /^\w*$/ };
			},
		}),
	];
}

export function Editor(props: {
	text: string;
	schema: Schema;
	handle: { current: Handle | undefined };
	onRun: () => void;
}) {
	const host = useRef<HTMLDivElement>(null);
	const view = useRef<EditorView>();
	const run = useRef(props.onRun);
	const words = useRef(new Compartment());
	run.current = props.onRun;

	useEffect(() => {
		const element = host.current!;
		const root =
			element.shadowRoot ?? element.attachShadow({ mode: 'open', delegatesFocus: true });
		const editor = new EditorView({
			root,
			parent: root,
			state: EditorState.create({
				doc: props.text,
				extensions: [
					Prec.highest(
						keymap.of([{ key: 'Mod-Enter', run: () => (run.current(), true) }]),
					),
					lineNumbers(),
					history(),
					drawSelection(),
					bracketMatching(),
					closeBrackets(),
					autocompletion({ icons: false }),
					EditorView.lineWrapping,
					placeholder('A statement, as: select * from stacks limit 10'),
					EditorView.contentAttributes.of({
						'aria-label':
							'SQL statement. Control and Enter runs it, Escape and then ' +
							'Tab leaves it.',
					}),
					words.current.of(language(props.schema)),
					syntaxHighlighting(colours),
					typedOver,
					fault,
					look,
					keymap.of([
						{ key: 'Tab', run: acceptCompletion },
						...closeBracketsKeymap,
						...defaultKeymap,
						...historyKeymap,
						...completionKeymap,
					]),
				],
			}),
		});
		view.current = editor;
		props.handle.current = {
			text: () => editor.state.doc.toString(),
			put: (text) =>
				editor.dispatch({
					changes: { from: 0, to: editor.state.doc.length, insert: text },
					selection: { anchor: text.length },
				}),
			insert: (text) => {
				editor.dispatch(editor.state.replaceSelection(text));
				editor.focus();
			},
			mark: (place) =>
				editor.dispatch({ effects: setFault.of(place && rangeOf(editor.state, place)) }),
			goTo: (place) => {
				editor.dispatch({
					selection: { anchor: offsetOf(editor.state, place) },
					scrollIntoView: true,
				});
				editor.focus();
			},
		};
		return () => {
			props.handle.current = undefined;
			editor.destroy();
		};
	}, []);
	useEffect(
		() =>
			view.current?.dispatch({ effects: words.current.reconfigure(language(props.schema)) }),
		[props.schema],
	);

	return <div class="sql-editor" ref={host} />;
}
