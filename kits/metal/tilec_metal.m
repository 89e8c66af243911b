/* Launching on a Metal device: see tilec_kit.h. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include "tilec_kit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIMD_WIDTH = 32, BUFFERS = 31, GRID = 1 << 20 };

static double failed(const char *what, NSError *error) {
    fprintf(stderr, "%s%s%s\n", what, error ? ": " : "", error ? error.localizedDescription.UTF8String : "");
    return -1;
}

static id<MTLComputePipelineState> compile(id<MTLDevice> device, const char *file, const char *entry) {
    NSError *error = nil;
    NSString *source = [NSString stringWithContentsOfFile:[NSString stringWithUTF8String:file] encoding:NSUTF8StringEncoding error:&error];
    if (!source) {
        failed(file, error);
        return nil;
    }
    /* The text asks for exact arithmetic; so do the options, in the form the system knows. */
    MTLCompileOptions *options = [MTLCompileOptions new];
#if defined(__MAC_15_0) && __MAC_OS_X_VERSION_MAX_ALLOWED >= __MAC_15_0
    if (@available(macOS 15.0, *))
        options.mathMode = MTLMathModeSafe;
    else
#endif
    {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
        options.fastMathEnabled = NO;
#pragma clang diagnostic pop
    }
    id<MTLLibrary> library = [device newLibraryWithSource:source options:options error:&error];
    id<MTLFunction> function = library ? [library newFunctionWithName:[NSString stringWithUTF8String:entry]] : nil;
    id<MTLComputePipelineState> pipeline = function ? [device newComputePipelineStateWithFunction:function error:&error] : nil;
    if (!pipeline)
        failed(entry, error);
    return pipeline;
}

/* One pass over every task, in as many launches as the grid's limit asks for. */
static double launch(id<MTLCommandQueue> queue, id<MTLComputePipelineState> pipeline, int threads, int64_t tasks, const tilec_argument *arguments,
                     int count, NSArray<id<MTLBuffer>> *buffers) {
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    for (int64_t first = 0; first < tasks; first += GRID) {
        NSUInteger next = 0;
        for (int i = 0; i < count; i++) {
            if (arguments[i].array)
                [encoder setBuffer:buffers[next++] offset:0 atIndex:(NSUInteger)i];
            else if (arguments[i].first_task)
                [encoder setBytes:&first length:arguments[i].size atIndex:(NSUInteger)i];
            else
                [encoder setBytes:arguments[i].bytes length:arguments[i].size atIndex:(NSUInteger)i];
        }
        NSUInteger here = (NSUInteger)(tasks - first < GRID ? tasks - first : GRID);
        [encoder dispatchThreadgroups:MTLSizeMake(here, 1, 1) threadsPerThreadgroup:MTLSizeMake((NSUInteger)threads, 1, 1)];
    }
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.status != MTLCommandBufferStatusCompleted)
        return failed("the launch did not complete", commands.error);
    return commands.GPUEndTime - commands.GPUStartTime;
}

static int by_value(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double tilec_device_run(const char *file, const char *entry, int threads, int64_t tasks, const tilec_argument *arguments, int count, int repeats) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        if (!device)
            return failed("there is no Metal device", nil);
        id<MTLComputePipelineState> pipeline = compile(device, file, entry);
        if (!pipeline)
            return -1;
        if (pipeline.threadExecutionWidth != SIMD_WIDTH || pipeline.maxTotalThreadsPerThreadgroup < (NSUInteger)threads) {
            fprintf(stderr, "%s: written for simdgroups of %d and threadgroups of %d; the device has %lu and %lu for it\n", entry, SIMD_WIDTH, threads,
                    (unsigned long)pipeline.threadExecutionWidth, (unsigned long)pipeline.maxTotalThreadsPerThreadgroup);
            return -1;
        }
        id<MTLCommandQueue> queue = [device newCommandQueue];
        NSMutableArray<id<MTLBuffer>> *buffers = [NSMutableArray new];
        for (int i = 0; i < count; i++)
            if (arguments[i].array) {
                id<MTLBuffer> buffer = [device newBufferWithLength:arguments[i].size ? arguments[i].size : 4 options:MTLResourceStorageModeShared];
                if (!buffer)
                    return failed("no memory for a buffer", nil);
                memcpy(buffer.contents, arguments[i].bytes, arguments[i].size);
                [buffers addObject:buffer];
            }
        if (launch(queue, pipeline, threads, tasks, arguments, count, buffers) < 0)
            return -1;
        NSUInteger next = 0;
        for (int i = 0; i < count; i++)
            if (arguments[i].array) {
                if (arguments[i].written)
                    memcpy(arguments[i].bytes, buffers[next].contents, arguments[i].size);
                next++;
            }
        double *seconds = calloc((size_t)repeats + 1, sizeof *seconds), median = 0;
        for (int r = 0; seconds && r < repeats && median >= 0; r++)
            if ((seconds[r] = launch(queue, pipeline, threads, tasks, arguments, count, buffers)) < 0)
                median = -1;
        if (seconds && repeats && median >= 0) {
            qsort(seconds, (size_t)repeats, sizeof *seconds, by_value);
            median = seconds[repeats / 2];
        }
        free(seconds);
        return median;
    }
}
