// The table beside a flame graph: a row a function, with what it has by itself and with all that it
// calls.
import { useMemo } from 'preact/hooks';
import { go, type Address } from '../base/address';
import { baseName, count, percent, size } from '../base/format';
import { Grid, type Column } from '../base/grid';
import { Place } from '../table/frames';
import {
	fileOf,
	focusOf,
	functionOf,
	type Layout,
	type Match,
	moduleOf,
	shortNameOf,
	siteOf,
} from './layout';

export interface FunctionTableProps {
	layout: Layout;
	address: Address;
	/** Whether there is a view of sources. */
	sources: boolean;
	blocks: boolean;
	picked: string;
	match: Match | undefined;
	focus: string;
	onFocus: (frame: number) => void;
}

/** Rows are numbers of the layout's. */
function columnsOf(props: FunctionTableProps): Column<number>[] {
	const { layout, address } = props;
	const show = props.blocks ? count : size;
	const frameOf = (row: number) => layout.rowFrame[row]!;
	const place = (row: number) => {
		const file = fileOf(layout, frameOf(row));
		const line = layout.lines[frameOf(row)]!;
		if (file && props.sources) return <Place address={address} file={file} line={line} />;
		return (
			<span class="dim">
				{file ? `${baseName(file)}:${line}` : baseName(moduleOf(layout, frameOf(row)))}
			</span>
		);
	};
	return [
		{
			key: 'function',
			title: 'Function',
			width: 'minmax(140px, 3fr)',
			cell: (row) => (
				<span title={functionOf(layout, frameOf(row))}>
					{shortNameOf(layout, frameOf(row))}
				</span>
			),
		},
		{ key: 'place', title: 'Place', width: 'minmax(110px, 1fr)', from: 560, cell: place },
		{
			key: 'self',
			title: 'Self',
			width: '86px',
			right: true,
			hint: 'by itself',
			cell: (row) => show(layout.rowSelf[row]!),
		},
		{
			key: 'total',
			title: 'Total',
			width: '86px',
			right: true,
			hint: 'with all that it calls',
			cell: (row) => show(layout.rowTotal[row]!),
		},
		{
			key: 'part',
			title: '%',
			width: '58px',
			right: true,
			from: 460,
			cell: (row) => percent(layout.rowTotal[row]!, layout.amount[0]!),
		},
		...(layout.change
			? [
					{
						key: 'change',
						title: 'Change',
						width: '90px',
						right: true,
						cell: (row: number) =>
							`${layout.rowChange[row]! > 0 ? '+' : ''}` +
							`${show(layout.rowChange[row]!)}`,
					},
				]
			: []),
		{
			key: 'around',
			title: 'Callers and callees',
			silent: true,
			width: '54px',
			class: 'bare around',
			cell: (row) => (
				<button
					type="button"
					class="button"
					title="Callers above, callees below"
					aria-label={`Callers and callees of ${functionOf(layout, frameOf(row))}`}
					aria-pressed={focusOf(layout, frameOf(row)) === props.focus}
					onClick={() => props.onFocus(frameOf(row))}
				>
					⇅
				</button>
			),
		},
	];
}

export function FunctionTable(props: FunctionTableProps) {
	const { layout, match } = props;
	const matching = useMemo(() => {
		if (!match) return undefined;
		const rows: number[] = [];
		for (let i = 0; i < layout.rowFrame.length; i++)
			if (match.frames[layout.rowFrame[i]!]) rows.push(i);
		return rows;
	}, [layout, match]);
	const site = (row: number) => siteOf(layout, layout.rowFrame[row]!);

	return (
		<Grid
			label="Functions, the one with most by itself first"
			class="functions"
			columns={columnsOf(props)}
			total={matching ? matching.length : layout.rowFrame.length}
			row={(at) => (matching ? matching[at] : at)}
			keyOf={site}
			picked={props.picked}
			onPick={(row) => go({ set: { site: site(row) } }, true)}
		/>
	);
}
