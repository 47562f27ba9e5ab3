// What is shown, to take along: as the picture that is on the screen, as one file of HTML, or for
// other tools; with the filters, the value and the moment of the address.
import { useState } from 'preact/hooks';
import { filtersOf, go, inBlocks, valueOf, type Address } from '../base/address';
import { about } from '../base/ask';
import { hasPictures, pictureAsPng, pictureAsSvg, save, type Said } from '../base/picture';
import { chips } from '../filters/words';
import { hasStatement, statementOf } from '../sql/statement';
import { FILES } from '../api/answers';
import type { Stream } from '../api/types';
import { baseInWords } from './compare';
import { useFleet } from './fleet_state';
import { Menu } from './menu';
import { VIEWS } from './views';

/** Pictures of the collector's, and the table of its formats. */
const FORMATS: typeof FILES = [
	['flamegraph', 'flame.svg', 'Flame graph (SVG)'],
	['graph', 'in-use.svg', 'In use over time (SVG)'],
	...FILES,
];

const VALUES = {
	'in-use': 'in use',
	peak: 'at the peak',
	allocated: 'allocated',
	leaked: 'leaked',
	temporary: 'freed',
};

/** Views whose pictures have a value of the bar. */
const OF_A_VALUE = new Set(['flame', 'diff', 'sites']);

const OF_A_MOMENT = new Set(['space', 'maps']);

/**
 * Of whom, what, and with which filters: a picture that goes elsewhere is read without the page
 * around it.
 */
function saidOf(address: Address, stream: Stream, base: string | undefined): Said {
	const { params } = address;
	const at = params.get('at');
	const value = valueOf(address);
	const shown = `${VALUES[value]}${at && value === 'in-use' ? ` at ${at}` : ''}`;
	const parts = [
		OF_A_VALUE.has(address.view)
			? `${shown}, in ${inBlocks(address) ? 'blocks' : 'bytes'}`
			: '',
		OF_A_MOMENT.has(address.view) && (at || valueOf(address) === 'peak')
			? at
				? `at ${at}`
				: shown
			: '',
		base ? `compared with ${base}` : '',
		...chips(filtersOf(address)).map((chip) => chip.text),
		params.get('focus') && address.view === 'flame'
			? `around ${params.get('focus')!.replace(/@[^@]*$/, '')}`
			: '',
		params.get('find') && address.view === 'flame' ? `search: ${params.get('find')}` : '',
	];
	return {
		title:
			`${stream.name}: ` +
			`${VIEWS.find((v) => v.name === address.view)?.title ?? address.view}`,
		about: [
			[stream.pid ? `pid ${stream.pid}` : '', stream.host ? `on ${stream.host}` : '']
				.filter(Boolean)
				.join(' '),
			...parts,
		]
			.filter(Boolean)
			.join('; '),
		incomplete: stream.incomplete ?? '',
	};
}

function Pictures(props: { address: Address; stream: Stream; close: () => void }) {
	const { address, stream, close } = props;
	const { streams } = useFleet();
	const base = address.params.get('base');
	const said = saidOf(
		address,
		stream,
		base ? baseInWords(base, streams, address.stream) : undefined,
	);
	const name = `${stream.name}-${address.view}`;

	if (!hasPictures()) return <p class="dim">This view is no picture.</p>;
	return (
		<>
			<p class="dim">What is drawn:</p>
			<button
				type="button"
				class="choice"
				onClick={() => {
					const made = pictureAsSvg(said);
					if (made) save(new Blob([made.svg], { type: 'image/svg+xml' }), `${name}.svg`);
					close();
				}}
			>
				Picture (SVG)
			</button>
			<button
				type="button"
				class="choice"
				onClick={() => {
					void pictureAsPng(said).then((blob) => blob && save(blob, `${name}.png`));
					close();
				}}
			>
				Picture (PNG)
			</button>
		</>
	);
}

/** The same question in SQL, to go on from there. */
function AsSql(props: { address: Address; stream: Stream; close: () => void }) {
	const { address, stream, close } = props;
	const [trouble, setTrouble] = useState('');

	const open = () =>
		void statementOf(stream.id, address, filtersOf(address)).then(
			(query) => {
				close();
				go({ view: 'sql', set: { query } });
			},
			(error: Error) => setTrouble(error.message),
		);
	return (
		<>
			<button type="button" class="choice" onClick={open}>
				As SQL
			</button>
			{trouble && <p class="error">{trouble}</p>}
		</>
	);
}

export function Export(props: { address: Address; stream: Stream }) {
	const { address, stream } = props;
	const { params } = address;
	const at = params.get('at');
	const value = valueOf(address);
	const what: [string, string | undefined][] = [
		['value', value],
		['at', at && value === 'in-use' ? at : undefined],
	];
	return (
		<Menu title="Export" label="Export">
			{(close) => (
				<>
					{hasStatement(address.view) && <AsSql {...props} close={close} />}
					<Pictures address={address} stream={stream} close={close} />
					<p class="dim">What is shown, with its filters, for a mail:</p>
					<a
						class="choice"
						download={`${stream.name}-flame.html`}
						href={about(stream.id, 'export/flamegraph.html', [
							...what,
							['weight', inBlocks(address) ? 'blocks' : undefined],
							['base', params.get('base') ?? undefined],
							...filtersOf(address),
						])}
						onClick={close}
					>
						Flame graph (HTML, one file)
					</a>
					<p class="dim">For other tools:</p>
					{FORMATS.map(([format, file, text]) => (
						<a
							class="choice"
							download={`${stream.name}-${file}`}
							href={about(stream.id, `export/${format}`, [
								...(format === 'graph' ? [] : what),
								...filtersOf(address),
							])}
							onClick={close}
						>
							{text}
						</a>
					))}
				</>
			)}
		</Menu>
	);
}
