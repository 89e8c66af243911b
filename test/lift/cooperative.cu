#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

template <int tile_size> __device__ float tile_sum(cg::thread_block_tile<tile_size> g, float v)
{
    for (int i = g.size() / 2; i > 0; i /= 2)
        v += g.shfl_down(v, i);
    return v;
}

__global__ void block_sums(const float *in, float *out, int n)
{
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    __shared__ float parts[32];
    float v = 0.0f;
    for (unsigned long long i = cg::this_grid().thread_rank(); i < (unsigned long long)n; i += cg::this_grid().size())
        v += in[i];
    v = cg::reduce(tile, v, cg::plus<float>());
    if (tile.thread_rank() == 0)
        parts[tile.meta_group_rank()] = v;
    cg::sync(block);
    if (tile.meta_group_rank() == 0) {
        v = tile.thread_rank() < tile.meta_group_size() ? parts[tile.thread_rank()] : 0.0f;
        v = tile_sum<32>(cg::tiled_partition<32>(block), v);
        if (block.thread_rank() == 0)
            atomicAdd(out, v);
    }
}
