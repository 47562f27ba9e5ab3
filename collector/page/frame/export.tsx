// Files for other tools, of what is shown: with the filters, the value and the moment of the address.
import { useState } from 'preact/hooks';
import { filtersOf, go, valueOf, type Address } from '../base/address';
import { about } from '../base/ask';
import { hasStatement, statementOf } from '../sql/statement';
import type { Stream } from '../api/types';
import { Menu } from './menu';

const FORMATS: readonly (readonly [string, string, string])[] = [
	['flamegraph', 'flame.svg', 'Flame graph (SVG)'],
	['graph', 'in-use.svg', 'In use over time (SVG)'],
	['pprof', 'heap.pb.gz', 'pprof: go tool pprof'],
	['speedscope', 'heap.speedscope.json', 'speedscope'],
	['heaptrack', 'heap.heaptrack', 'heaptrack'],
	['massif', 'massif.out', 'massif: ms_print'],
	['jemalloc', 'heap.jeprof', 'jemalloc: jeprof'],
	['gperftools', 'heap.gperf', 'gperftools: google-pprof'],
	['flamegraph.pl', 'stacks.txt', 'Collapsed stacks'],
	['callgraph', 'calls.dot', 'Call graph: dot'],
	['csv', 'allocations.csv', 'Allocations (CSV)'],
	['json', 'allocations.jsonl', 'Allocations (JSON lines)'],
];

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
	const at = address.params.get('at');
	const value = valueOf(address);
	return (
		<Menu title="Export" label="Export">
			{(close) => (
				<>
					{hasStatement(address.view) && <AsSql {...props} close={close} />}
					<p class="dim">What is shown, with its filters, for:</p>
					{FORMATS.map(([format, file, text]) => (
						<a
							class="choice"
							download={`${stream.name}-${file}`}
							href={about(stream.id, `export/${format}`, [
								...(format === 'graph' ? [] : ([['value', value], ['at', at && value === 'in-use' ? at : undefined]] as [string, string | undefined][])),
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
