// A table of any length: only the rows in sight are in the document. All rows are equally high.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useSize } from './ui';

const ROW_HEIGHT = 24; // as in style.css
const AROUND = 12; // rows above and below what is in sight, so that scrolling does not show gaps

export interface Column {
	title: string;
	numeric?: boolean;
	/** In px. One column may have none: it gets what is left. */
	width?: number;
	/** What the title means, shown on hovering. */
	about?: string;
	sort?: 'ascending' | 'descending' | 'none';
	onSort?: () => void;
	class?: string;
}

export interface Row {
	cells: ComponentChildren[];
	/** In full, where a cell has it shortened. */
	titles?: (string | undefined)[];
	class?: string;
}

export function Rows(props: {
	label: string;
	columns: Column[];
	count: number;
	row: (at: number) => Row;
	selected?: number;
	onSelect?: (at: number) => void;
	/** Scrolls there when it changes. */
	show?: number | undefined;
	class?: string;
	/** In px, if the style sheet has another height for this `class`. */
	rowHeight?: number;
}) {
	const { columns, count, selected, onSelect } = props;
	const high = props.rowHeight ?? ROW_HEIGHT;
	const [box, { height, width: room }] = useSize<HTMLDivElement>();
	const [top, setTop] = useState(0);
	const first = Math.max(0, Math.floor(top / high) - AROUND);
	const last = Math.min(count, Math.ceil((top + height) / high) + AROUND);
	const width = columns.reduce((sum, c) => sum + (c.width ?? 160), 0);
	const filled = columns.some((c) => c.width === undefined) || width >= room;

	useEffect(() => {
		if (props.show === undefined || !box.current || !height) return;
		const at = props.show * high;
		if (at < box.current.scrollTop || at > box.current.scrollTop + height - 2 * high) box.current.scrollTop = Math.max(0, at - height / 3);
	}, [props.show, height > 0, count]);

	const onKey = (event: KeyboardEvent) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (!step || !onSelect || event.target !== box.current) return;
		event.preventDefault();
		const at = Math.max(0, Math.min(count - 1, (selected ?? -1) < 0 ? 0 : selected! + step));
		onSelect(at);
		const y = at * high;
		if (y < box.current!.scrollTop) box.current!.scrollTop = y;
		else if (y + 2 * high > box.current!.scrollTop + height) box.current!.scrollTop = y + 2 * high - height;
	};
	const spacer = (rows: number) => (rows > 0 ? <tr class="spacer" aria-hidden="true" style={{ height: `${rows * high}px` }} /> : null);

	return (
		<div class={`tablebox rows ${props.class ?? ''}`} ref={box} tabIndex={0} role="region" aria-label={props.label} onScroll={(event) => setTop(event.currentTarget.scrollTop)} onKeyDown={onKey}>
			<table aria-rowcount={count + 1} style={{ minWidth: `${width}px`, width: '100%' }}>
				<colgroup>
					{columns.map((c) => (
						<col style={c.width === undefined ? {} : { width: `${c.width}px` }} />
					))}
					{!filled && <col />}
				</colgroup>
				<thead>
					<tr aria-rowindex={1}>
						{columns.map((c) => (
							<th class={c.numeric ? 'n' : ''} title={c.about ?? c.title} aria-sort={c.sort}>
								{c.onSort ? (
									<button type="button" onClick={c.onSort}>
										{c.title}
										{c.sort === 'ascending' ? ' ▴' : c.sort === 'descending' ? ' ▾' : ''}
									</button>
								) : (
									c.title
								)}
							</th>
						))}
						{!filled && <th />}
					</tr>
				</thead>
				<tbody>
					{spacer(first)}
					{Array.from({ length: Math.max(0, last - first) }, (_, i) => {
						const at = first + i;
						const { cells, titles, class: name } = props.row(at);
						return (
							<tr key={at} class={name} aria-rowindex={at + 2} aria-selected={onSelect ? at === selected : undefined} onClick={onSelect && (() => onSelect(at))}>
								{cells.map((cell, c) => (
									<td class={`${columns[c]!.numeric ? 'n' : ''} ${columns[c]!.class ?? ''}`} title={titles?.[c]}>
										{cell}
									</td>
								))}
								{!filled && <td />}
							</tr>
						);
					})}
					{spacer(count - last)}
				</tbody>
			</table>
		</div>
	);
}
