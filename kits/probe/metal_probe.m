/* Asks a Metal device the dots of NAME.dots, with the kernel of NAME.metal, and which lane holds what (NAME.layout, NAME.holds.metal): ./metal_probe NAME.dots ... prints
 * a row for each. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>
#include "probe_dots.h"
#include "probe_text.h"
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096 };

static int failed(const char *what, NSError *error) {
    fprintf(stderr, "%s%s%s\n", what, error ? ": " : "", error ? error.localizedDescription.UTF8String : "");
    return 0;
}

static id<MTLComputePipelineState> compile(id<MTLDevice> device, NSString *path, NSString *name) {
    NSError *error = nil;
    NSString *source = [NSString stringWithContentsOfFile:path encoding:NSUTF8StringEncoding error:&error];
    id<MTLLibrary> library = source ? [device newLibraryWithSource:source options:nil error:&error] : nil;
    id<MTLFunction> function = [library newFunctionWithName:name];
    id<MTLComputePipelineState> pipeline = function ? [device newComputePipelineStateWithFunction:function error:&error] : nil;
    if (!pipeline)
        failed(path.UTF8String, error);
    return pipeline;
}

static int ask(id<MTLDevice> device, id<MTLComputePipelineState> pipeline, const probe_dots *d, uint32_t *answers) {
    id<MTLCommandQueue> queue = [device newCommandQueue];
    NSUInteger row_a = (NSUInteger)(d->rows * d->k * d->bytes_a), row_b = (NSUInteger)(8 * d->k * d->bytes_b), row_c = (NSUInteger)(d->rows * 8 * 4);
    id<MTLBuffer> a = [device newBufferWithLength:BATCH * row_a options:MTLResourceStorageModeShared];
    id<MTLBuffer> b = [device newBufferWithLength:BATCH * row_b options:MTLResourceStorageModeShared];
    id<MTLBuffer> c = [device newBufferWithLength:BATCH * row_c options:MTLResourceStorageModeShared];
    id<MTLBuffer> results = [device newBufferWithLength:BATCH * row_c options:MTLResourceStorageModeShared];
    if (!queue || !a || !b || !c || !results)
        return failed("no memory on the device", nil);
    if (pipeline.threadExecutionWidth != 32)
        return failed("simdgroups are not 32 wide here", nil);
    for (long long first = 0, all = probe_tiles(d); first < all; first += BATCH) {
        long long tiles = all - first < BATCH ? all - first : BATCH;
        probe_dots_place(d, first, tiles, a.contents, b.contents, c.contents);
        id<MTLCommandBuffer> commands = [queue commandBuffer];
        id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:a offset:0 atIndex:0];
        [encoder setBuffer:b offset:0 atIndex:1];
        [encoder setBuffer:c offset:0 atIndex:2];
        [encoder setBuffer:results offset:0 atIndex:3];
        [encoder dispatchThreadgroups:MTLSizeMake((NSUInteger)tiles, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
        [encoder endEncoding];
        [commands commit];
        [commands waitUntilCompleted];
        if (commands.status != MTLCommandBufferStatusCompleted)
            return failed("the device did not finish", commands.error);
        probe_dots_take(d, first, tiles, results.contents, answers);
    }
    return 1;
}

static int probe(id<MTLDevice> device, const char *text, const char *path) {
    probe_dots d;
    if (!probe_dots_read(&d, path))
        return 0;
    NSString *kernel = [[[NSString stringWithUTF8String:path] stringByDeletingPathExtension] stringByAppendingPathExtension:@"metal"];
    id<MTLComputePipelineState> pipeline = compile(device, kernel, @"dots");
    uint32_t *answers = calloc((size_t)d.count + 1, 4);
    int good = pipeline && answers && ask(device, pipeline, &d, answers);
    if (good)
        probe_dots_print(&d, "metal", text, answers);
    probe_dots_free(&d);
    free(answers);
    return good;
}

/* What each lane's two elements are of a matrix whose entries are their own numbers. */
static int layout(id<MTLDevice> device, const char *text, const char *path) {
    char name[64], hash[40];
    int cases, one_a, one_b;
    FILE *f = fopen(path, "r");
    int good = f && fscanf(f, "tilec layout 1 %63s %d %d %d %32s", name, &cases, &one_a, &one_b, hash) == 5;
    if (f)
        fclose(f);
    NSString *kernel = [[[NSString stringWithUTF8String:path] stringByDeletingPathExtension] stringByAppendingPathExtension:@"holds.metal"];
    id<MTLComputePipelineState> pipeline = good ? compile(device, kernel, @"holds") : nil;
    id<MTLCommandQueue> queue = [device newCommandQueue];
    id<MTLBuffer> out = [device newBufferWithLength:64 * 4 options:MTLResourceStorageModeShared];
    if (!pipeline || !queue || !out)
        return failed(path, nil);
    id<MTLCommandBuffer> commands = [queue commandBuffer];
    id<MTLComputeCommandEncoder> encoder = [commands computeCommandEncoder];
    [encoder setComputePipelineState:pipeline];
    [encoder setBuffer:out offset:0 atIndex:0];
    [encoder dispatchThreadgroups:MTLSizeMake(1, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [encoder endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.status != MTLCommandBufferStatusCompleted)
        return failed("the device did not finish", commands.error);
    printf("{\"layout\": \"%s\", \"target\": \"metal\", \"device\": \"", name);
    probe_text_print(text);
    printf("\", \"hash\": \"%s\", \"cases\": %d, \"set\": \"", hash, cases);
    for (int i = 0; i < 64; i++)
        printf("%s%u", i ? " " : "", ((const unsigned *)out.contents)[i]);
    printf("\"}\n");
    fflush(stdout);
    return 1;
}

int main(int count, char **arguments) {
    @autoreleasepool {
        id<MTLDevice> device = MTLCreateSystemDefaultDevice();
        if (count < 2)
            fprintf(stderr, "usage: %s NAME.dots ...\n", arguments[0]);
        if (count < 2 || !device)
            return !failed("no Metal device", nil) && 1;
        NSString *text = [NSString stringWithFormat:@"%@, macOS %@", device.name, NSProcessInfo.processInfo.operatingSystemVersionString];
        int answered = 0;
        for (int i = 1; i < count; i++) {
            size_t length = strlen(arguments[i]);
            int of_layout = length > 7 && !strcmp(arguments[i] + length - 7, ".layout");
            if (of_layout ? layout(device, text.UTF8String, arguments[i]) : probe(device, text.UTF8String, arguments[i]))
                answered++;
            else
                fprintf(stderr, "%s: not asked (an instruction that this device lacks is left out)\n", arguments[i]);
        }
        return answered == 0;
    }
}
