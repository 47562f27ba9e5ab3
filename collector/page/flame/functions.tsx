// The table beside a flame graph: a row a function, with what it has by itself and with all that it calls.
import { useMemo } from 'preact/hooks';
import { go } from '../base/address';
import { baseName, count, percent, size } from '../base/format';
import { focusOf, functionOf, moduleOf, placeOf, siteOf, type Layout, type Match } from './layout';

const ROWS_MAX = 200;

export function FunctionTable(props: { layout: Layout; blocks: boolean; picked: string; match: Match | undefined; focus: string; onFocus: (frame: number) => void }) {
	const { layout, match } = props;
	const rows = useMemo(() => {
		const found: { frame: number; self: number; total: number; change: number }[] = [];
		for (let i = 0; i < layout.rowFrame.length && found.length < ROWS_MAX; i++) {
			const frame = layout.rowFrame[i]!;
			if (!match || match.frames[frame]) found.push({ frame, self: layout.rowSelf[i]!, total: layout.rowTotal[i]!, change: layout.rowChange[i]! });
		}
		return found;
	}, [layout, match]);
	const show = props.blocks ? count : size;
	const whole = layout.amount[0]!;

	return (
		<div class="tablebox functions" tabIndex={0}>
			<table>
				<thead>
					<tr>
						<th>Function</th>
						<th class="minor">Place</th>
						<th class="n">Self</th>
						<th class="n">Total</th>
						<th class="n minor">%</th>
						{layout.change && <th class="n">Change</th>}
						<th>
							<span class="hidden">Callers and callees</span>
						</th>
					</tr>
				</thead>
				<tbody>
					{rows.map((r) => {
						const site = siteOf(layout, r.frame);
						const name = functionOf(layout, r.frame);
						return (
							<tr key={r.frame} aria-selected={site === props.picked} onClick={() => go({ set: { site } }, true)}>
								<td class="text">
									<button type="button" class="plain">
										{name}
									</button>
								</td>
								<td class="text dim minor">{baseName(placeOf(layout, r.frame) || moduleOf(layout, r.frame))}</td>
								<td class="n">{show(r.self)}</td>
								<td class="n">{show(r.total)}</td>
								<td class="n minor">{percent(r.total, whole)}</td>
								{layout.change && (
									<td class="n">
										{r.change > 0 ? '+' : ''}
										{show(r.change)}
									</td>
								)}
								<td class="around">
									<button
										type="button"
										class="button"
										title="Callers above, callees below"
										aria-label={`Callers and callees of ${name}`}
										aria-pressed={focusOf(layout, r.frame) === props.focus}
										onClick={() => props.onFocus(r.frame)}
									>
										⇅
									</button>
								</td>
							</tr>
						);
					})}
				</tbody>
			</table>
		</div>
	);
}
