// The view of a flame graph, with the tree that the server has for the address.
import { filtersOf, go, inBlocks, valueOf } from '../base/address';
import { about } from '../base/ask';
import { useCalmVersion } from '../base/calm';
import { Answered } from '../base/ui';
import { exactly } from '../filters/words';
import type { ViewProps } from '../frame/views';
import { HiddenNames } from '../table/hidden';
import { None } from '../table/sites';
import { useLayout } from './ask';
import { Graph } from './graph';
import { functionOf } from './layout';

const EMPTY: Record<string, string> = {
	leaked: 'Nothing leaked: every block that was recorded was freed.',
	temporary: 'No block was freed before the end.',
	'in-use': 'Nothing was in use then.',
};

export function FlameView(props: ViewProps) {
	const { address, stream } = props;
	const { params } = address;
	const value = valueOf(address);
	const focus = params.get('focus') ?? '';
	const path = about(stream.id, 'flame', [
		['value', value],
		['at', value === 'in-use' ? (params.get('at') ?? undefined) : undefined],
		['reversed', params.get('tree') === 'up' && !focus ? 'true' : undefined],
		['base', params.get('base') ?? undefined],
		...filtersOf(address),
	]);
	const look = {
		blocks: inBlocks(address),
		focus,
		byName: params.has('from') || params.has('to'),
	};
	const answer = useLayout(path, look, useCalmVersion(stream));

	return (
		<Answered answer={answer}>
			{(laid) =>
				laid.layout.width[0] ? (
					<Graph
						address={address}
						laid={laid}
						canTurn={!params.has('base')}
						sources
						note={<HiddenNames {...props} />}
						onOnly={(frame) =>
							go({ set: { function_regex: exactly(functionOf(laid.layout, frame)) } })
						}
					/>
				) : (
					<None address={address} title={EMPTY[value]} />
				)
			}
		</Answered>
	);
}
